/** The description of the API: it is OpenAPI, names every route that is mounted and no other, and its examples hold. */
import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Apps } from '../../src/http/app.ts';
import type { ListenerName } from '../../src/http/openapi/declaration.ts';
import type { OpenApi } from '../../src/http/openapi/openapi.ts';
import { style } from '../../src/http/openapi/page-style.ts';
import { createCheck, operationsOf } from '../support/described-api.ts';
import { KEY, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';
import { readText } from '../tidy/sources.ts';

const validator = new Validator();

let gateway: StubGateway;
let apps: Apps;
const documents = {} as Record<ListenerName, OpenApi>;
beforeAll(async () => {
  gateway = await startStubGateway({ around: (made) => (apps = made) });
  for (const listener of listeners) documents[listener] = await read(listener);
});
afterAll(() => gateway.stop());

const listeners = ['public', 'internal'] as const;
const urlOf = (listener: ListenerName): string => (listener === 'public' ? gateway.publicUrl : gateway.internalUrl);
const read = async (listener: ListenerName) =>
  (await (await fetch(`${urlOf(listener)}/openapi.json`)).json()) as OpenApi;

describe.each(listeners)('the description of the %s listener', (listener) => {
  it('is OpenAPI 3.1', async () => {
    const { valid, errors } = await validator.validate(structuredClone(documents[listener]) as never);
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('has every route that is mounted, by its methods, and no other', async () => {
    const app = listener === 'public' ? apps.publicApp : apps.internalApp;
    const mounted = new Set(app.routes.map(({ path }) => path).filter((path) => !path.includes('*')));
    const apart = new Set(['/', '/assets/:name', '/openapi.json', '/api']);
    const allowed = await Promise.all(
      [...mounted].filter((path) => !apart.has(path)).map(async (path) => [path, await methodsOf(listener, path)]),
    );
    const described = Object.entries(documents[listener].paths).map(([path, methods]) => [
      path.replaceAll(/\{([a-z]+)\}/g, ':$1'),
      Object.keys(methods)
        .map((method) => method.toUpperCase())
        .toSorted(),
    ]);
    expect(Object.fromEntries(described)).toEqual(Object.fromEntries(allowed));
    expect(described.length).toBeGreaterThan(15);
  });

  it('gives each operation, body and answer a name, and no two operations the same', () => {
    const operations = operationsOf(documents[listener]);
    const ids = operations.map(({ operationId }) => operationId);
    expect(ids).toEqual([...new Set(ids)]);
    const contents = operations.flatMap(({ requestBody, responses }) =>
      [requestBody, ...Object.values(responses)].flatMap((one) => Object.values(one?.content ?? {})),
    );
    const nameless = contents.filter(({ schema }) => schema.$ref === undefined && schema.oneOf === undefined);
    expect(nameless).toEqual([]);
  });

  it('has an example of each body and answer, and each is as its shape has it', () => {
    const check = createCheck(documents[listener]);
    const shapes = Object.entries(documents[listener].components.schemas).filter(([name]) => !name.endsWith('Problem'));
    for (const [name, schema] of shapes) {
      if (name !== 'Event') expect(schema.examples, name).toHaveLength(1);
      for (const example of schema.examples ?? []) expect(check.faults(schema, example), name).toEqual([]);
    }
  });

  it('says what opens a route: on one listener tokens by their scope, on the other the key', () => {
    const { paths } = documents[listener];
    const token = (scope: string) => ({ token: [scope] });
    const expected = listener === 'public' ? [token('send')] : [{ key: ['send'] }];
    expect(paths['/sessions/{session}/messages']?.['post']?.security).toEqual(expected);
    const ways =
      listener === 'public' ? [token('read'), { cookie: ['read'] }, { ticket: ['read'] }] : [{ key: ['read'] }];
    expect(paths['/sessions/{session}/stream']?.['get']?.security).toEqual(ways);
    expect(paths['/healthz']?.['get']?.security).toEqual([]);
  });

  it('is known again by its tag, and needs no credential', async () => {
    for (const path of ['/openapi.json', '/api']) {
      const first = await fetch(urlOf(listener) + path);
      await first.text();
      const again = await fetch(urlOf(listener) + path, {
        headers: { 'if-none-match': first.headers.get('etag') ?? '' },
      });
      expect([first.status, again.status, await again.text()]).toEqual([200, 304, '']);
    }
  });

  it('is a page for people, too, that shows each operation and runs nothing', async () => {
    const response = await fetch(`${urlOf(listener)}/api`);
    const html = await response.text();
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/);
    expect(html).not.toMatch(/<script| style="| on[a-z]+="|&lt;(?:p|code|li)&gt;/);
    for (const { operationId } of operationsOf(documents[listener]))
      expect(html).toContain(`<article id="${operationId}"`);
    const targets = [...html.matchAll(/href="#([^"]+)"/g)].map(([, target]) => target);
    expect(targets.filter((target) => !html.includes(`id="${target}"`))).toEqual([]);
  });
});

async function methodsOf(listener: ListenerName, path: string): Promise<string[]> {
  const response = await fetch(urlOf(listener) + path.replaceAll(/:[a-z]+/g, '1'), { method: 'OPTIONS' });
  const allowed = response.headers.get('allow')?.split(', ') ?? [];
  return allowed.filter((method) => method !== 'HEAD' && method !== 'OPTIONS').toSorted();
}

it('a ticket is given for a session that is not there, and only a token may be told that one is out of its reach', async () => {
  const asked = { method: 'POST', headers: { authorization: `Bearer ${KEY}` } };
  expect((await fetch(`${gateway.internalUrl}/sessions/nowhere/tickets`, asked)).status).toBe(201);
  const [ofKey, ofToken] = [documents.internal, documents.public].map(
    ({ paths }) => paths['/sessions/{session}/tickets']?.['post']?.responses,
  );
  expect(ofKey?.['201']).toBeDefined();
  expect([ofKey?.['404'], ofToken?.['404']]).toEqual([undefined, expect.anything()]);
});

it('a public listener tells nothing of the internal routes', () => {
  expect(JSON.stringify(documents.public)).not.toContain('/internal/');
});

it("the protocol's table has the routes and the scopes that are described", () => {
  const rows = [
    ...readText('docs/PROTOCOL.md').matchAll(/^\| `(GET|POST|DELETE) (\/[^`]*)`(?:, `GET (\/[^`]*)`)? \| ([^|]*) \|/gm),
  ];
  const told = rows.flatMap(([, method = '', path = '', other, scope = '']) =>
    [path, ...(other === undefined ? [] : [other])].flatMap(spread).map((one) => `${method} ${one} ${scopeOf(scope)}`),
  );
  const described = operationsOf(documents.internal).map(({ method, path, scope }) => {
    const isInternal = path.startsWith('/internal/') || path === '/metrics';
    const words = isInternal ? 'internal' : (scope ?? 'none');
    return `${method.toUpperCase()} ${path.replaceAll(/\{([a-z]+)\}/g, ':$1')} ${words}`;
  });
  const steps = described.filter((line) => line.includes('/steps'));
  expect(described.filter((line) => !steps.includes(line) && !told.includes(line))).toEqual([]);
});

/** `/turns/{claim,renew}` is two. */
function spread(path: string): string[] {
  const [, before = path, words = '', after = ''] = /^(.*)\{([a-z,]+)\}(.*)$/.exec(path) ?? [];
  return words.split(',').map((word) => before + word + after);
}

const scopeOf = (cell: string): string =>
  cell.includes('*internal*') && !cell.startsWith('no credential')
    ? 'internal'
    : cell.startsWith('no credential')
      ? 'none'
      : cell;

it('the page of the API has the colours of the web page', () => {
  const tokens = readText('web-client/app/styles/tokens.css').replaceAll(/\s+/g, ' ');
  const own = [...style.replaceAll(/\s+/g, ' ').matchAll(/--[a-z-]+: [^;]+;/g)].map(([token]) => token);
  expect(own.filter((token) => !tokens.includes(token))).toEqual([]);
  expect(own.length).toBeGreaterThan(15);
});
