/** What a route says of itself: who may, what it takes, what it answers. The API's description is made of these. */
import type { z } from 'zod';
import type { ErrorCode } from '../../base/errors.ts';
import type { Scope } from '../auth.ts';
import type { Handler } from '../context.ts';

/** In the order of a first visit. */
export const groups = ['Sessions', 'Events', 'Turns', 'Workers', 'Steps', 'Access', 'Server'] as const;
export type Group = (typeof groups)[number];

export interface Operation {
  /** Names it for generated clients; unique on its listener. */
  readonly id: string;
  readonly group: Group;
  /** A few words, beginning with a verb. */
  readonly summary: string;
  /** What the summary leaves open; `code` and paragraphs. */
  readonly description?: string;
  /** Left out: no credential is needed. */
  readonly scope?: Scope;
  /** Whether a ticket in the address opens it, too. */
  readonly takesTicket?: true;
  /** Asks nothing of the session itself: where the credential reaches it, the answer is the same whether it exists or not. */
  readonly isBlind?: true;
  /** An object whose members are the parameters. */
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: Body;
  /** By status. */
  readonly answers: Readonly<Record<number, Answer>>;
  /** Its own; those that come of its scope, its parameters and its body are added. */
  readonly refusals?: readonly ErrorCode[];
}

export interface Body {
  /** A request without a body means its defaults. */
  readonly isOptional?: true;
  /** By media type. The first example of a shape is what the description shows. */
  readonly contents: Readonly<Record<string, z.ZodType>>;
}

export interface Answer {
  readonly description: string;
  /** By media type; left out: no body. */
  readonly contents?: Readonly<Record<string, z.ZodType>>;
  readonly headers?: z.ZodObject;
}

export const JSON_TYPE = 'application/json';

export const json = (shape: z.ZodType): Readonly<Record<string, z.ZodType>> => ({ [JSON_TYPE]: shape });

/** A route with what it says of itself. */
export interface Described {
  readonly operation: Operation;
  readonly handle: Handler;
}

/** Behind a door or a gate that asks for the very scope that the description names. */
export const guarded = <GuardedHandler>(
  operation: Operation & { readonly scope: Scope },
  guard: (scope: Scope, handler: GuardedHandler) => Handler,
  handler: GuardedHandler,
): Described => ({ operation, handle: guard(operation.scope, handler) });
