/** A listener as its own description has it: sends what is described, and holds whatever comes back against it. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import type { ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect } from 'vitest';
import type { ListenerName } from '../../src/http/openapi/declaration.ts';
import type { OpenApi, PathOperation } from '../../src/http/openapi/openapi.ts';
import type { Schema } from '../../src/http/openapi/schemas.ts';

export interface DescribedOperation extends PathOperation {
  readonly method: string;
  readonly path: string;
  /** Left out: no credential is needed. */
  readonly scope: string | undefined;
}

export interface Sent {
  readonly path?: Readonly<Record<string, string | number>>;
  readonly query?: Readonly<Record<string, string | number>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as it is if it is a text. */
  readonly body?: unknown;
  /** Of an answer without an end: its beginning is enough. */
  readonly isEndless?: boolean;
}

export interface Answered {
  readonly status: number;
  readonly body: unknown;
}

export interface DescribedApi {
  readonly operations: readonly DescribedOperation[];
  /** The first example of an operation's JSON body; undefined where it takes none. */
  example(id: string): Readonly<Record<string, unknown>> | undefined;
  /** The members that an operation's JSON body must have. */
  requiredOf(id: string): readonly string[];
  /** Whether an answer of the operation may have the shape. */
  mentions(id: string, shape: string): boolean;
  /** Checks what is sent, too. */
  send(id: string, sent?: Sent): Promise<Answered>;
  /** The same of what is not as described: only the answer is checked. */
  sendWrong(id: string, sent: Sent): Promise<Answered>;
}

const JSON_TYPE = 'application/json';

export async function describedApi(listener: ListenerName, url: string, credential: string): Promise<DescribedApi> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as OpenApi;
  const operations = operationsOf(document);
  const check = createCheck(document);
  const find = (id: string): DescribedOperation => {
    const operation = operations.find(({ operationId }) => operationId === id);
    if (operation === undefined) throw new Error(`the ${listener} listener describes no ${id}`);
    return operation;
  };
  const bodyOf = (id: string): Schema => check.resolved(find(id).requestBody?.content[JSON_TYPE]?.schema ?? {});

  const sendWrong = async (id: string, sent: Sent): Promise<Answered> => {
    const operation = find(id);
    const response = await fetch(url + addressOf(operation, sent), {
      method: operation.method.toUpperCase(),
      headers: { authorization: `Bearer ${credential}`, 'content-type': JSON_TYPE, ...sent.headers },
      ...(sent.body === undefined ? {} : { body: textOf(sent.body) }),
    });
    return checkAnswer(operation, response, sent);
  };

  async function checkAnswer(operation: DescribedOperation, response: Response, sent: Sent): Promise<Answered> {
    const { status } = response;
    const described = operation.responses[String(status)];
    const text = sent.isEndless === true && status === 200 ? await beginningOf(response) : await response.text();
    const name = `${operation.operationId} of the ${listener} listener answered ${status}: ${text.slice(0, 400)}`;
    expect(Object.keys(operation.responses), name).toContain(String(status));
    for (const header of Object.keys(described?.headers ?? {})) {
      if (header !== 'Preference-Applied') expect(response.headers.get(header), `${header}; ${name}`).not.toBeNull();
    }
    if (described?.content === undefined) {
      expect(text, name).toBe('');
      return { status, body: undefined };
    }
    const type = (response.headers.get('content-type') ?? '').split(';')[0] ?? '';
    const schema = described.content[type]?.schema;
    expect(schema, `${type}; ${name}`).toBeDefined();
    const body: unknown = type.endsWith('json') && type !== 'application/x-ndjson' ? JSON.parse(text) : text;
    expect(check.faults(schema ?? {}, body), name).toEqual([]);
    return { status, body };
  }

  return {
    operations,
    example: (id) => bodyOf(id).examples?.[0] as Readonly<Record<string, unknown>> | undefined,
    requiredOf: (id) => bodyOf(id).required ?? [],
    mentions: (id, shape) => JSON.stringify(find(id).responses).includes(`/${shape}"`),
    send(id, sent = {}) {
      const content = find(id).requestBody?.content;
      const schema = content?.[sent.headers?.['content-type'] ?? JSON_TYPE]?.schema;
      if (sent.body !== undefined) expect(check.faults(schema ?? {}, sent.body), `what is sent as ${id}`).toEqual([]);
      return sendWrong(id, sent);
    },
    sendWrong,
  };
}

const textOf = (body: unknown): string => (typeof body === 'string' ? body : JSON.stringify(body));

const addressOf = ({ path }: DescribedOperation, { path: places = {}, query = {} }: Sent): string => {
  const words = Object.entries(query).map(([name, value]) => [name, String(value)]);
  const filled = path.replaceAll(/\{([a-z]+)\}/g, (_, name: string) => encodeURIComponent(places[name] ?? '0'));
  return words.length === 0 ? filled : `${filled}?${new URLSearchParams(words).toString()}`;
};

async function beginningOf(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  const { value } = (await reader?.read()) ?? {};
  await reader?.cancel();
  return new TextDecoder().decode(value);
}

export const operationsOf = ({ paths }: OpenApi): DescribedOperation[] =>
  Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const [scope] = Object.values(operation.security[0] ?? {}).flat();
      return { ...operation, method, path, scope };
    }),
  );

interface Check {
  resolved(schema: Schema): Schema;
  /** What is not as the schema has it, members that it does not know among them. */
  faults(schema: Schema, value: unknown): string[];
}

/** Strict, so that a schema which means nothing is an error, too. */
export function createCheck({ components }: Pick<OpenApi, 'components'>): Check {
  const ajv = new Ajv2020({ strict: true, strictRequired: false, allErrors: true, allowUnionTypes: true });
  addFormats.default(ajv);
  ajv.addVocabulary(['components']);
  ajv.addSchema({ $id: 'api', ...closed({ components }) });
  const compiled = new Map<string, ValidateFunction>();
  const compile = (schema: Schema): ValidateFunction => {
    const text = JSON.stringify(closed(schema)).replaceAll('"$ref":"#/', '"$ref":"api#/');
    const validate = compiled.get(text) ?? ajv.compile(JSON.parse(text) as Schema);
    compiled.set(text, validate);
    return validate;
  };
  return {
    resolved: (schema) => components.schemas[schema.$ref?.split('/').at(-1) ?? ''] ?? schema,
    faults(schema, value) {
      const validate = compile(schema);
      if (validate(value)) return [];
      return (validate.errors ?? []).map(
        (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
      );
    },
  };
}

/** A reader takes what it does not know; a test of the description does not. */
function closed<Value>(value: Value): Value {
  if (Array.isArray(value)) return value.map(closed) as Value;
  if (typeof value !== 'object' || value === null) return value;
  const members = Object.fromEntries(Object.entries(value).map(([name, member]) => [name, closed(member)]));
  const isOpen = members['type'] === 'object' && 'properties' in members && !('additionalProperties' in members);
  return (isOpen ? { ...members, additionalProperties: false } : members) as Value;
}
