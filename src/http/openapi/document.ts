/** The description of a listener as an OpenAPI document, made of what its mounted routes say of themselves. */
import { z } from 'zod';
import type { ErrorCode } from '../../base/errors.ts';
import { limits } from '../../base/limits.ts';
import { sessionIdShape } from '../../event/event.ts';
import { producerIdShape } from '../../event/producer.ts';
import { turnIdShape } from '../../event/turn-id.ts';
import { PROTOCOL_HEADER, PROTOCOL_VERSION } from '../observe.ts';
import { problemKinds } from '../problem.ts';
import type { Declaration, ListenerName } from './declaration.ts';
import type { Contents, OpenApi, Parameter, PathOperation, Response } from './openapi.ts';
import { groups } from './operation.ts';
import type { Answer, Group } from './operation.ts';
import { problemShape } from './problem-shape.ts';
import { refusalsOf } from './refusals.ts';
import { createSchemas } from './schemas.ts';
import type { Schemas } from './schemas.ts';
import { securityOf, securitySchemes } from './security.ts';

const about: Readonly<Record<ListenerName, string>> = {
  public: 'For readers, with a token: follow sessions, write to their agents, decide, stop.',
  internal:
    'For producers, workers and operators, with the internal key: all that the public listener has, and appending.',
};

const aboutGroup: Readonly<Record<Group, string>> = {
  Sessions: 'Create, describe, list, close and delete.',
  Events: 'Append them, read their history, follow them live.',
  Turns: 'What people say to an agent, decide for it, and do about its turns.',
  Workers: 'Claim turns, keep their leases, and settle them.',
  Steps: 'The journal of a turn, by which an effect happens once, and what effects have others told.',
  Access: 'Tickets and revocations.',
  Server: 'Whether it lives and is ready, and what it counts.',
};

/** What stands in paths, by name. */
const pathShapes = new Map<string, z.ZodType>([
  ['session', sessionIdShape.describe('The id of a session.')],
  ['turn', turnIdShape.describe('The id of a turn.')],
  ['producer', producerIdShape.describe('The id of a producer.')],
  [
    'index',
    z
      .int()
      .min(0)
      .max(limits.stepsPerTurn - 1)
      .describe('The place of the step in the journal of its turn.'),
  ],
]);

/** Resolves when others have had their turn. */
export type Pause = () => Promise<void>;

/** Shapes become schemas at some milliseconds a route, so it pauses behind each. */
export async function describeListener(
  declarations: readonly Declaration[],
  listener: ListenerName,
  pause: Pause,
): Promise<OpenApi> {
  const schemas = createSchemas();
  const paths: Record<string, Record<string, PathOperation>> = {};
  for (const declaration of declarations) {
    const path = declaration.path.replaceAll(/:([a-z]+)/g, '{$1}');
    const methods = (paths[path] ??= {});
    methods[declaration.method.toLowerCase()] = describeOperation(declaration, listener, schemas);
    await pause();
  }
  const used = new Set(declarations.map(({ operation }) => operation.group));
  return {
    openapi: '3.1.1',
    info: { title: `Ledgerline, ${listener} listener`, version: PROTOCOL_VERSION, description: about[listener] },
    servers: [{ url: '/', description: 'The server that this description comes from.' }],
    tags: groups.filter((name) => used.has(name)).map((name) => ({ name, description: aboutGroup[name] })),
    paths,
    components: { schemas: schemas.components, securitySchemes: securitySchemes[listener] },
  };
}

function describeOperation(declaration: Declaration, listener: ListenerName, schemas: Schemas): PathOperation {
  const { operation, path } = declaration;
  const { id, group, summary, description, body } = operation;
  return {
    operationId: id,
    tags: [group],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(declaration, listener),
    parameters: [
      ...membersOf(pathShape(path), 'path', schemas),
      ...membersOf(operation.query, 'query', schemas),
      ...membersOf(operation.headers, 'header', schemas),
    ],
    ...(body && { requestBody: { required: body.isOptional !== true, content: contentsOf(body.contents, schemas) } }),
    responses: Object.fromEntries([
      ...Object.entries(operation.answers).map(([status, answer]) => [status, answerOf(answer, schemas)] as const),
      ...[...refusalsOf(declaration, listener)].map(
        ([status, codes]) => [String(status), refusalOf(status, codes, schemas)] as const,
      ),
    ]),
  };
}

function pathShape(path: string): z.ZodObject {
  const names = [...path.matchAll(/:([a-z]+)/g)].map(([, name = '']) => name);
  return z.object(Object.fromEntries(names.map((name) => [name, pathShapes.get(name) ?? z.string()])));
}

function membersOf(shape: z.ZodObject | undefined, place: Parameter['in'], schemas: Schemas): Parameter[] {
  if (shape === undefined) return [];
  const { properties = {}, required = [] } = schemas.of(shape);
  return Object.entries(properties).map(([name, property]) => {
    const { description, ...schema } = property as Exclude<typeof property, boolean>;
    return {
      name,
      in: place,
      required: required.includes(name),
      ...(description === undefined ? {} : { description }),
      schema,
    };
  });
}

const contentsOf = (contents: Readonly<Record<string, z.ZodType>>, schemas: Schemas): Contents =>
  Object.fromEntries(Object.entries(contents).map(([type, shape]) => [type, { schema: schemas.of(shape) }]));

const everyAnswer = z.object({
  [PROTOCOL_HEADER]: z.literal(PROTOCOL_VERSION).describe('The version of the protocol.'),
});

/** Of refusals by their status. */
const refusalHeaders = new Map<number, z.ZodObject>([
  [401, z.object({ 'WWW-Authenticate': z.string() })],
  [429, z.object({ 'Retry-After': z.string().describe('Seconds.') })],
  [503, z.object({ 'Retry-After': z.string().describe('Seconds.') })],
]);

const headersOf = (shape: z.ZodObject | undefined, schemas: Schemas): Response['headers'] =>
  Object.fromEntries(
    [everyAnswer, shape]
      .flatMap((one) => membersOf(one, 'header', schemas))
      .map(({ name, description, schema }) => [
        name,
        { ...(description === undefined ? {} : { description }), schema },
      ]),
  );

const answerOf = ({ description, contents, headers }: Answer, schemas: Schemas): Response => ({
  description,
  headers: headersOf(headers, schemas),
  ...(contents && { content: contentsOf(contents, schemas) }),
});

function refusalOf(status: number, codes: readonly ErrorCode[], schemas: Schemas): Response {
  const [only = {}, ...others] = codes.map((code) => schemas.of(problemShape(code)));
  const schema = others.length === 0 ? only : { oneOf: [only, ...others] };
  return {
    description: codes.map((code) => `${problemKinds[code].title}: \`${code}\`.`).join(' '),
    headers: headersOf(refusalHeaders.get(status), schemas),
    content: { 'application/problem+json': { schema } },
  };
}
