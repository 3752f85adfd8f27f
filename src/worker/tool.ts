/** What an agent's tools are: what each takes, what it promises of its effect, and how it is run. */
import { z } from 'zod';
import { limits } from '../base/limits.ts';
import type { Statements } from '../db/postgres.ts';
import { toolNameShape } from '../event/step-id.ts';
import { effectClasses } from '../step/step.ts';
import type { EffectClass } from '../step/step.ts';

/**
 * Thrown by a tool: the call has failed, and that is certain. The model gets its code and message, the journal keeps them, and
 * every reader of the session sees them. Whatever else a tool throws, a timeout above all, leaves open what happened: the model
 * never hears of it, and the next attempt settles the call by the tool's class.
 */
export class ToolError extends Error {
  override name = 'ToolError';
  readonly code: string;

  constructor(code: string, message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
  }
}

/** By its name, for a worker and its agent may have a copy of this module each. */
export const isToolError = (thrown: unknown): thrown is ToolError =>
  thrown instanceof Error && thrown.name === 'ToolError' && 'code' in thrown && typeof thrown.code === 'string';

export interface OutsideCall {
  /** The same at every attempt: hand it to the provider. */
  readonly key: string;
  /**
   * Of what has no effect, or may be repeated, the turn's own. Of any other effect it aborts only when the worker must go: a
   * stop lets the call settle.
   */
  readonly signal: AbortSignal;
}

export interface TransactionalCall {
  /** Commits with the journal, or not at all. Nothing in it may wait for anything outside this database; after 50 s it is rolled back, and the call has failed. */
  readonly tx: Statements;
  readonly key: string;
  /** What is to be published once the effect is committed, and because of it. */
  readonly deliver: (topic: string, payload: unknown) => void;
}

export interface Found {
  readonly result: unknown;
}

interface Taking<Args extends z.ZodType> {
  /** What the model may ask for: anything else is refused before anything is written. Amounts are integers in minor units, or texts. */
  readonly args: Args;
}

interface PlainTool<Args extends z.ZodType> extends Taking<Args> {
  /** `once` if left out: it promises nothing. */
  readonly effect?: 'read' | 'idempotent' | 'once';
  /** Resolves with the result, as JSON. */
  readonly run: (args: z.output<Args>, call: OutsideCall) => Promise<unknown>;
}

interface KeyedTool<Args extends z.ZodType> extends Taking<Args> {
  readonly effect: 'keyed';
  /** For so long the provider knows a key again. 23 hours if left out. */
  readonly keySeconds?: number;
  readonly run: (args: z.output<Args>, call: OutsideCall) => Promise<unknown>;
}

interface LookupTool<Args extends z.ZodType> extends Taking<Args> {
  readonly effect: 'lookup';
  /** Asks the provider for the key: what it did, or undefined when it certainly did nothing, and never will of its own accord. */
  readonly find: (args: z.output<Args>, call: OutsideCall) => Promise<Found | undefined>;
  readonly run: (args: z.output<Args>, call: OutsideCall) => Promise<unknown>;
}

export interface TransactionalTool<Args extends z.ZodType = z.ZodType> extends Taking<Args> {
  readonly effect: 'transactional';
  readonly run: (args: z.output<Args>, call: TransactionalCall) => Promise<unknown>;
}

/** Its effect is outside this database, or it has none. */
export type OutsideTool<Args extends z.ZodType = z.ZodType> = PlainTool<Args> | KeyedTool<Args> | LookupTool<Args>;

/** A tool, by what it promises of its effect (`EffectClass`). */
export type Tool<Args extends z.ZodType = z.ZodType> = OutsideTool<Args> | TransactionalTool<Args>;

/** By the name under which the model calls them. */
export type Tools<Schemas extends Readonly<Record<string, z.ZodType>> = Readonly<Record<string, z.ZodType>>> = {
  readonly [Name in keyof Schemas]: Tool<Schemas[Name]>;
};

export const effectOf = ({ effect }: Tool): EffectClass => effect ?? 'once';

const isFunction = (value: unknown): boolean => typeof value === 'function';

const toolShape = z
  .strictObject({
    effect: z.enum(effectClasses, `is one of ${effectClasses.join(', ')}`).optional(),
    args: z.custom<z.ZodType>(isSchema, 'is a zod schema'),
    run: z.custom<Tool['run']>(isFunction, 'is a function that does it'),
    find: z.custom<LookupTool<z.ZodType>['find']>(isFunction, 'is a function that asks for what was done').optional(),
    keySeconds: z.int().min(1).max(limits.keySecondsMost).optional(),
  })
  .refine(({ effect, find }) => (find === undefined) === (effect !== 'lookup'), {
    path: ['find'],
    message: 'goes with the effect lookup, and with no other',
  })
  .refine(({ effect, keySeconds }) => keySeconds === undefined || effect === 'keyed', {
    path: ['keySeconds'],
    message: 'goes with the effect keyed, and with no other',
  });

/** Of the same kind, whichever copy of zod made it. */
function isSchema(value: unknown): boolean {
  return typeof value === 'object' && value !== null && 'safeParseAsync' in value && isFunction(value.safeParseAsync);
}

/** As they are in a definition. */
export const toolsShape = z
  .record(toolNameShape, toolShape)
  .default({})
  .transform((tools) => tools as Tools);
