/** Each tidy rule sees a breach of it, and leaves what is right alone. */
import { describe, expect, test } from 'vitest';
import { definedInvariants, uncitedInvariants, unknownTags } from './citations.ts';
import { codeBreaches } from './error-codes.ts';
import { cycles, doorBreaches, floorBreaches, importsOf } from './imports.ts';
import { nameBreaches, openingBreaches, sizeBreaches } from './shape.ts';
import type { Source } from './sources.ts';
import { clientImportBreaches, clientWordBreaches } from './web-client.ts';
import { testBreaches, wordBreaches } from './words.ts';

const file = (path: string, text: string): Source => ({ path, text });

describe('imports', () => {
  test('of every form are found', () => {
    const text = [
      `import a from './a.ts';`,
      `import type { B } from './b.ts';`,
      `import {\n  c,\n  type C,\n} from './c.ts';`,
      `import './d.ts';`,
      `export * from './e.ts';`,
      `type F = import('./f.ts').F;`,
      `const g = await import('./g.ts');`,
      `// import './in-a-comment.ts';`,
      `const from = 'no import';`,
    ].join('\n');
    expect(importsOf(text).toSorted()).toEqual(['./a.ts', './b.ts', './c.ts', './d.ts', './e.ts', './f.ts', './g.ts']);
  });

  test.each([
    ['up', 'src/ledger/a.ts', '../http/b.ts', 'src/ledger/a.ts imports src/http/b.ts, which is up'],
    ['up into the root', 'src/base/a.ts', '../config.ts', 'src/base/a.ts imports src/config.ts, which is up'],
    ['sideways', 'src/bus/a.ts', '../sse/b.ts', 'src/bus/a.ts imports src/sse/b.ts, which is sideways'],
    [
      'outside',
      'src/http/a.ts',
      '../../web-client/src/b.ts',
      'src/http/a.ts imports web-client/src/b.ts, which is outside',
    ],
    ['from a folder without a floor', 'src/attic/a.ts', './b.ts', 'src/attic/a.ts: the folder attic has no floor'],
  ])('that go %s are breaches, types included', (_, path, target, breach) => {
    expect(floorBreaches([file(path, `import type { X } from '${target}';`)])).toEqual([breach]);
  });

  test.each([
    ['src/http/a.ts', '../base/b.ts'],
    ['src/room/a.ts', './b.ts'],
    ['src/gateway.ts', './cli/b.ts'],
    ['src/cli/a.ts', '../config.ts'],
    ['src/bus/a.ts', 'nats'],
  ])('of %s from %s are none', (path, target) => {
    expect(floorBreaches([file(path, `import { x } from '${target}';`)])).toEqual([]);
  });

  test('in a circle are found, types included', () => {
    const circle = [
      file('src/room/a.ts', `import { b } from './b.ts';`),
      file('src/room/b.ts', `import type { C } from './c.ts';`),
      file('src/room/c.ts', `import { a } from './a.ts';`),
      file('src/room/d.ts', `import { a } from './a.ts';`),
    ];
    expect(cycles(circle)).toEqual(['src/room/a.ts → src/room/b.ts → src/room/c.ts → src/room/a.ts']);
    expect(cycles(circle.slice(0, 2))).toEqual([]);
  });

  test.each([
    ['src/bus/index.ts', ''],
    ['src/bus/types.ts', ''],
    ['src/base/utils.ts', ''],
    ['web-client/app/types.tsx', ''],
    ['web-client/src/index.ts', ''],
    ['web-client/src/a.ts', `export { follow } from './follow-session.ts';`],
    ['src/bus/all.ts', `export * from './wire.ts';`],
    ['src/bus/all.ts', `export { subject } from './wire.ts';`],
    ['src/bus/all.ts', `export type { Broadcast } from './bus.ts';`],
  ])('do not go through %s with %j', (path, text) => expect(doorBreaches([file(path, text)])).toHaveLength(1));

  test('and exports of a file itself are no door', () => {
    expect(doorBreaches([file('src/bus/wire.ts', `export const from = 'x';\nexport function f() {}`)])).toEqual([]);
    expect(
      doorBreaches([file('web-client/src/a.ts', `import type { X } from './b.ts';\n\nexport type { X };\n`)]),
    ).toEqual([]);
  });

  test('in a circle are found across .ts and .tsx', () => {
    const circle = [
      file('web-client/app/a.tsx', `import { b } from './b.ts';`),
      file('web-client/app/b.ts', `import type { A } from './a.tsx';`),
    ];
    expect(cycles(circle)).toEqual(['web-client/app/a.tsx → web-client/app/b.ts → web-client/app/a.tsx']);
  });
});

describe('imports of the web client', () => {
  test.each([
    ['web-client/src/a.ts', '../app/b.ts', 'web-client/src/a.ts imports web-client/app/b.ts, which is the page'],
    ['web-client/src/a.ts', '../../src/b.ts', 'web-client/src/a.ts imports src/b.ts, which is outside'],
    ['web-client/app/a.tsx', '../../src/b.ts', 'web-client/app/a.tsx imports src/b.ts, which is outside'],
    ['web-client/app/a.tsx', '../dist/b.js', 'web-client/app/a.tsx imports web-client/dist/b.js, which is outside'],
    ['web-client/src/a.ts', 'react', 'web-client/src/a.ts imports react, which is not for this file'],
    ['web-client/src/react.ts', 'ai', 'web-client/src/react.ts imports ai, which is not for this file'],
    ['web-client/src/paid.ts', 'ai', 'web-client/src/paid.ts imports ai, which is not for this file'],
    [
      'web-client/src/connection.ts',
      'eventsource-parser',
      'web-client/src/connection.ts imports eventsource-parser, which is not for this file',
    ],
    ['web-client/src/frames.ts', 'zod', 'web-client/src/frames.ts imports zod, which is no package of the library'],
    [
      'web-client/src/a.ts',
      'node:crypto',
      'web-client/src/a.ts imports node:crypto, which is no package of the library',
    ],
  ])('in %s from %s are a breach, types included', (path, target, breach) => {
    expect(clientImportBreaches([file(path, `import type { X } from '${target}';`)])).toEqual([breach]);
  });

  test.each([
    ['web-client/src/a.ts', './b.ts'],
    ['web-client/src/frames.ts', 'eventsource-parser'],
    ['web-client/src/react.ts', 'react'],
    ['web-client/src/ai.ts', 'ai'],
    ['web-client/src/ai-message.ts', 'ai'],
    ['web-client/app/a.tsx', '../src/timeline.ts'],
    ['web-client/app/a.tsx', './rail/b.tsx'],
    ['web-client/app/a.tsx', 'react-dom/client'],
  ])('in %s from %s are none', (path, target) => {
    expect(clientImportBreaches([file(path, `import { x } from '${target}';`)])).toEqual([]);
  });
});

describe('files', () => {
  test('of 250 lines pass, of 251 do not', () => {
    expect(sizeBreaches([file('src/a.ts', 'x\n'.repeat(250))])).toEqual([]);
    expect(sizeBreaches([file('src/a.ts', 'x\n'.repeat(251))])).toEqual(['src/a.ts has 251 lines: two ideas']);
  });

  test.each(['src/CamelCase.ts', 'src/snake_case.ts', 'src/a--b.ts', 'test/unit/a.spec.ts', 'web-client/app/App.tsx'])(
    'are not named %s',
    (path) => {
      expect(nameBreaches([file(path, '')])).toHaveLength(1);
    },
  );

  test.each([
    'src/kebab-case.ts',
    'test/unit/page-2.test.ts',
    'web-client/app/ledger-rail.tsx',
    'test/unit/a.test.tsx',
  ])('may be named %s', (path) => {
    expect(nameBreaches([file(path, '')])).toEqual([]);
  });

  test.each([
    ['src/a.ts', `import x from 'x';`],
    ['src/a.ts', `// A comment of another kind.`],
    ['src/a.ts', `/** without an end */`],
    ['src/a.ts', `/** @file Only a tag. */`],
    ['web-client/app/a.tsx', `import x from 'x';`],
    ['sql/0001_a.sql', 'create table a ();'],
  ])('%s must not open with %j', (path, text) => expect(openingBreaches([file(path, text)])).toHaveLength(1));

  test.each([
    ['src/a.ts', `/** Says what it is for. */`],
    ['src/a.ts', `#!/usr/bin/env node\n/**\n * Says what it is for,\n * on two lines. And why.\n */`],
    ['web-client/app/a.tsx', `/** Says what it is for. */`],
    ['sql/0001_a.sql', '-- Says what it is for.\ncreate table a ();'],
  ])('%s may open with %j', (path, text) => expect(openingBreaches([file(path, text)])).toEqual([]));
});

describe('words', () => {
  test.each([
    ['src/room/a.ts', 'await sql`select 1`;'],
    ['src/room/a.ts', 'await sql<Row[]>`select 1`;'],
    ['src/http/a.ts', 'await sql.unsafe(text);'],
    ['src/ledger/a.ts', `import postgres from 'postgres';`],
    ['src/session/a.ts', `import { connect } from 'nats';`],
    ['src/sse/a.ts', `import type { Context } from 'hono';`],
    ['src/cli/a.ts', `import { serve } from '@hono/node-server';`],
    ['src/room/a.ts', 'const frame = `id: ${sequence}`;'],
    ['src/room/a.ts', String.raw`const frame = 'retry: 1\ndata: {}';`],
    ['src/session/a.ts', 'return { status: 409 };'],
    ['src/room/a.ts', 'response.writeHead(200);'],
    ['src/base/log.ts', 'process.env.X'],
    ['src/room/a.ts', 'Date.now()'],
    ['src/bus/a.ts', 'setTimeout(run, 5)'],
    ['src/session/a.ts', 'Math.random()'],
    ['src/producer/a.ts', 'AbortSignal.timeout(5)'],
    ['src/base/log.ts', 'process.stdout.write(line)'],
    ['src/http/a.ts', `import { followSession } from '@ledgerline/web-client';`],
    ['src/http/a.ts', `process.once('SIGTERM', stop)`],
    ['src/cli/a.ts', 'process.exit(1)'],
    ['src/ledger/a.ts', 'const cursor = 5 as Cursor;'],
    ['src/ledger/a.ts', 'const next = row.last + 1;'],
    ['src/room/room.ts', 'const expected = this.watermark + 1;'],
  ])('in %s: %j is a breach', (path, text) => expect(wordBreaches([file(path, text)])).not.toEqual([]));

  test.each([
    ['src/ledger/a.ts', 'await sql`select 1`;'],
    ['src/room/a.ts', `import type { Sql } from 'postgres';`],
    ['src/http/a.ts', `import { Hono } from 'hono';`],
    ['src/sse/frame.ts', 'const frame = `id: ${sequence}`;'],
    ['src/http/a.ts', 'return { status: 409 };'],
    ['src/room/gap.ts', 'first === watermark + 1'],
    ['src/http/a.ts', 'server.setTimeout(0)'],
    ['src/room/a.ts', '// not Date.now(): a test stands in for the clock'],
    ['src/room/a.ts', 'const address = "http://host"; clock.now();'],
  ])('in %s: %j is none', (path, text) => expect(wordBreaches([file(path, text)])).toEqual([]));

  test.each([
    ['web-client/src/session-view.ts', 'Date.now()'],
    ['web-client/src/backoff.ts', 'Math.random()'],
    ['web-client/src/read-stream.ts', 'setTimeout(run, 5)'],
    ['web-client/app/rail.tsx', 'performance.now()'],
    ['web-client/src/session-view.ts', 'requestAnimationFrame(notify)'],
    ['web-client/src/ai.ts', `import { readUIMessageStream } from 'ai';`],
    ['web-client/src/ai.ts', `import {\n  type UIMessage,\n  readUIMessageStream,\n} from 'ai';`],
    ['web-client/src/follower.ts', `console.warn('a gap')`],
    ['web-client/app/message.tsx', '<p dangerouslySetInnerHTML={{ __html: text }} />'],
    ['web-client/src/follower.ts', `localStorage.getItem('token')`],
  ])('of the web client in %s: %j is a breach', (path, text) => {
    expect(clientWordBreaches([file(path, text)])).toHaveLength(1);
  });

  test.each([
    ['web-client/src/clock.ts', 'Date.now() + performance.now() + Math.random()'],
    ['web-client/app/rail.tsx', 'requestAnimationFrame(draw)'],
    ['web-client/app/token.ts', `sessionStorage.getItem('token')`],
    ['web-client/src/ai.ts', `import type { UIMessageChunk } from 'ai';`],
    ['web-client/src/follower.ts', 'clock.now()'],
  ])('of the web client in %s: %j is none', (path, text) => {
    expect(clientWordBreaches([file(path, text)])).toEqual([]);
  });

  test.each([
    ['test/unit/a.test.ts', 'await sleep(50);'],
    ['test/unit/a.test.ts', 'await new Promise((resolve) => setTimeout(resolve, 5));'],
    ['test/unit/a.test.ts', `test.skip('later', () => {});`],
    ['test/unit/a.test.ts', 'describe.skipIf(isRoot)'],
    ['test/unit/a.test.ts', 'context.skip()'],
  ])('in %s: %j is a breach', (path, text) => expect(testBreaches([file(path, text)])).not.toEqual([]));

  test('that wait may poll in one place', () => {
    expect(
      testBreaches([file('test/support/waits.ts', `import { setTimeout as pause } from 'node:timers/promises';`)]),
    ).toEqual([]);
  });
});

describe('citations', () => {
  const invariants = definedInvariants('- **I1** numbers\n- **I2** never changes');

  test('of what nothing defines are found', () => {
    const sources = [
      file(
        'src/a.ts',
        '/** Kept here [I1], [spec: RFC 1], [bench], after repo#7 [some/repo#7], in [0, 1). */\n// [I9] [rumour]',
      ),
    ];
    expect(unknownTags(sources, invariants)).toEqual([
      'src/a.ts cites [I9], which nothing defines',
      'src/a.ts cites [rumour], which nothing defines',
    ]);
  });

  test('in code are no citations', () => {
    expect(unknownTags([file('src/a.ts', 'const value = row[key];')], invariants)).toEqual([]);
    expect(unknownTags([file('src/a.ts', '// `MSG subject [reply] bytes`')], invariants)).toEqual([]);
    expect(uncitedInvariants(new Set(['I1']), [file('src/a.ts', 'x[I1]')], [file('test/a.ts', '// [I1]')])).toEqual([
      'no line of src keeps I1',
    ]);
  });

  test('that are missing in src or in the tests are found', () => {
    const src = [file('src/a.ts', '// [I1]')];
    const tests = [file('test/a.test.ts', `test('never changes [I2]', () => {})`)];
    expect(uncitedInvariants(invariants, src, tests)).toEqual(['no test proves I1', 'no line of src keeps I2']);
  });
});

describe('error codes', () => {
  test('that one of the three places lacks are found', () => {
    expect(codeBreaches(['one', 'two_words'], { one: 1, three: 3 }, '| `one` | described |')).toEqual([
      'two_words has no status in http/problem',
      'three in http/problem is no error code',
      'two_words is not described in docs/PROTOCOL.md',
    ]);
  });

  test('that all three places have pass', () => expect(codeBreaches(['one'], { one: 1 }, '`one`')).toEqual([]));
});
