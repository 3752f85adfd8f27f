/** A stream of events into a gateway: what is stored is told, whatever else the lines hold, and memory stays flat. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { lineLimits } from '../../src/base/line-limits.ts';
import { limits } from '../../src/base/limits.ts';
import { toSequence } from '../../src/event/sequence.ts';
import type { AppendRequest, Outcome, ProducerRow } from '../../src/ledger/ledger.ts';
import { line, openNdjson } from '../support/ndjson-call.ts';
import type { NdjsonCall } from '../support/ndjson-call.ts';
import { KEY, recordingLog, startStubGateway } from '../support/stub-gateway.ts';
import type { StubGateway } from '../support/stub-gateway.ts';
import { manualClock } from '../support/manual-clock.ts';
import { eventually } from '../support/waits.ts';

let gateway: StubGateway;
let draining: AbortController;
/** What the ledger holds, and what a test makes of an append. */
let stored: string[];
let meet: (request: AppendRequest) => Promise<Outcome>;
let row: ProducerRow | undefined;

function store({ events }: AppendRequest): Promise<Outcome> {
  const first = stored.length + 1;
  stored.push(...events.map(({ data }) => data));
  return Promise.resolve({
    kind: 'appended',
    first: toSequence(first),
    last: toSequence(stored.length),
    at: '2026-11-30T04:00:00.000Z',
  });
}

async function start(more: Parameters<typeof startStubGateway>[0] = {}): Promise<void> {
  gateway = await startStubGateway({
    draining: draining.signal,
    sessions: { append: (request) => meet(request), producer: () => Promise.resolve(row) },
    ...more,
  });
}
beforeEach(() => {
  draining = new AbortController();
  stored = [];
  meet = store;
  row = { state: 'open', counter: 0, first: undefined, last: undefined };
});
afterEach(() => gateway.stop());

const open = (query = 'producer=p&sequence=1', headers: object = {}): NdjsonCall =>
  openNdjson({ internalUrl: gateway.internalUrl, key: KEY }, 's1', query, headers);

/** Lets an append wait until the test lets it go. */
function gate(): { open: () => void; waiting: () => number } {
  const held: (() => void)[] = [];
  let isOpen = false;
  meet = async (request) => {
    if (!isOpen) await new Promise<void>((resolve) => held.push(resolve));
    return store(request);
  };
  return {
    open() {
      isOpen = true;
      for (const go of held) go();
    },
    waiting: () => held.length,
  };
}

describe('a stream of events', () => {
  it('is answered before its first line, and line by line as they are stored', async () => {
    await start();
    const call = open('producer=p&sequence=7');
    expect(await call.opened).toBe(200);
    expect(call.headers()).toMatchObject({
      'content-type': 'application/x-ndjson',
      'ledgerline-protocol': '1',
      'x-accel-buffering': 'no',
    });
    call.write(line('{"n":9007199254740993}'));
    await call.said({ counter: 7 });
    call.write(line('2') + line('3'));
    await call.said({ counter: 9 });
    await call.end();
    expect(call.lines()).toEqual([
      { first: 1, last: 1, counter: 7 },
      { first: 2, last: 3, counter: 9 },
      { end: 'complete' },
    ]);
    expect(stored).toEqual(['{"n":9007199254740993}', '2', '3']);
    expect(gateway.appends[1]).toMatchObject({ session: 's1', producer: { id: 'p', sequence: 8 } });
  });

  it('has one batch in flight; what comes meanwhile is the next', async () => {
    await start();
    const held = gate();
    const call = open();
    call.write(line('1'));
    await eventually('the first is being stored', () => held.waiting() === 1);
    for (const data of ['2', '3', '4']) call.write(line(data));
    await call.opened;
    held.open();
    await call.end();
    expect(gateway.appends[0]?.events).toHaveLength(1);
    expect(gateway.appends.flatMap(({ events }) => events.map(({ data }) => data))).toEqual(['1', '2', '3', '4']);
    expect(call.lines().at(-2)).toMatchObject({ last: 4, counter: 4 });
  });

  it('takes blank lines for a sign of life, and needs no line break at its end', async () => {
    await start();
    const call = open();
    call.write('\n\r\n  \n' + line('1') + '\n');
    call.write('{"type":"a","data":2}');
    await call.end();
    expect(stored).toEqual(['1', '2']);
    expect(call.lines().at(-1)).toEqual({ end: 'complete' });
  });

  it('of 64 MB is stored whole, in batches of bounded size, however slow the first is [I6]', async () => {
    await start();
    const held = gate();
    const call = open();
    const large = line(`"${'x'.repeat(100_000)}"`);
    let sent = 0;
    const total = 64 * 1024 * 1024;
    const pump = (): void => {
      while (sent < total) {
        sent += large.length;
        if (!call.write(large)) return void call.request.once('drain', pump);
      }
      call.request.end();
    };
    pump();
    await eventually('the first is being stored', () => held.waiting() === 1);
    held.open();
    await eventually('all of it is stored', () => call.isOver, 50_000);
    expect(stored).toHaveLength(Math.ceil(total / large.length));
    for (const { events } of gateway.appends) {
      const bytes = events.reduce((sum, event) => sum + event.bytes, 0);
      expect(bytes).toBeLessThan(lineLimits.waitingLinesBytes + 2 * limits.payloadBytes);
    }
  });

  it('never asks for more than an append holds', async () => {
    await start();
    const held = gate();
    const call = open();
    call.write(line('0'));
    await eventually('the first is being stored', () => held.waiting() === 1);
    call.write(line('1').repeat(2_500));
    await call.opened;
    held.open();
    await call.end();
    expect(stored).toHaveLength(2_501);
    expect(Math.max(...gateway.appends.map(({ events }) => events.length))).toBeLessThanOrEqual(limits.eventsPerAppend);
  });
});

describe('a line that cannot be stored', () => {
  it.each<[string, string | Buffer, object]>([
    ['bad JSON', '{"type":"a","data":nothing}\n', { code: 'malformed', line: 3 }],
    ['no JSON', 'hello\n', { code: 'malformed', line: 3 }],
    ['no object', '[1]\n', { code: 'malformed', line: 3 }],
    ['a bad type', line('1', 'Upper'), { code: 'malformed', where: 'type', line: 3 }],
    ['no data', '{"type":"a"}\n', { code: 'malformed', where: 'data', line: 3 }],
    ['an equal key', '{"type":"a","data":1,"data":2}\n', { code: 'malformed', line: 3 }],
    ['a key of its own', '{"type":"a","data":1,"x":2}\n', { code: 'malformed', line: 3 }],
    ['two values', '{"type":"a","data":1},{"type":"a","data":2}\n', { code: 'malformed', line: 3 }],
    ['bad UTF-8', Buffer.from([0x22, 0xff, 0x22, 0x0a]), { code: 'malformed', line: 3 }],
    [
      'a payload past the limit',
      line(`"${'x'.repeat(limits.payloadBytes)}"`),
      { code: 'too_large', limit: 'payloadBytes', line: 3 },
    ],
    ['too deep a payload', line(`${'['.repeat(257)}${']'.repeat(257)}`), { code: 'too_deep', line: 3 }],
    [
      'no end within the limit',
      'x'.repeat(lineLimits.lineBytes + 1),
      { code: 'too_large', limit: 'lineBytes', line: 3 },
    ],
  ])(
    'for %s is named by its number, and what stood before it is stored',
    async (_, bad, { code, ...fields }: { code?: string }) => {
      await start();
      const call = open();
      call.write(Buffer.concat([Buffer.from(line('1') + '\n'), Buffer.from(bad), Buffer.from(line('3'))]));
      await eventually('the answer has ended', () => call.isOver);
      expect(stored).toEqual(['1']);
      expect(call.lines()).toEqual([
        { first: 1, last: 1, counter: 1 },
        expect.objectContaining({ type: `urn:ledgerline:problem:${code}`, ...fields }),
      ]);
      expect(String(call.lines().at(-1)?.['detail'])).toMatch(/^line 3\b/);
    },
  );

  it('of 256 MB without a break is refused at its limit, in flat memory [teamclaude#341]', async () => {
    await start();
    const call = open();
    call.write(line('1'));
    await call.said({ counter: 1 });
    const before = process.memoryUsage().rss;
    const chunk = Buffer.alloc(1 << 20, 'x');
    let sent = 0;
    const pump = (): void => {
      while (sent < 256 << 20 && !call.isOver) {
        sent += chunk.length;
        if (!call.write(chunk)) return void call.request.once('drain', pump);
      }
    };
    pump();
    await call.said({ type: 'urn:ledgerline:problem:too_large', limit: 'lineBytes', line: 2 });
    await eventually('the connection is closed', () => call.isOver);
    expect(sent).toBeLessThan(256 << 20);
    expect(process.memoryUsage().rss - before).toBeLessThan(100 << 20);
  });
});

describe('an append that is refused in a stream', () => {
  it.each<[Outcome, object]>([
    [{ kind: 'closed' }, { type: 'urn:ledgerline:problem:session_closed', status: 409 }],
    [
      { kind: 'overlap', counter: 9 },
      { type: 'urn:ledgerline:problem:producer_overlap', counter: 9 },
    ],
    [{ kind: 'busy' }, { type: 'urn:ledgerline:problem:session_busy', status: 503 }],
  ])('with %j ends it with the problem', async (outcome, problem) => {
    await start();
    const call = open();
    call.write(line('1'));
    await call.said({ counter: 1 });
    meet = () => Promise.resolve(outcome);
    call.write(line('2'));
    await eventually('the answer has ended', () => call.isOver);
    expect(call.lines().at(-1)).toMatchObject(problem);
  });

  it.each(['unavailable', 'append_unknown'] as const)('because it is %s says so', async (code) => {
    await start();
    meet = () => Promise.reject(new LedgerlineError(code, 'x'));
    const call = open();
    call.write(line('1'));
    await call.said({ type: `urn:ledgerline:problem:${code}` });
    expect(call.lines()).toHaveLength(1);
  });

  it('by a fault of ours tells an id, and the log the rest', async () => {
    const { log, lines } = recordingLog();
    await start({ log });
    meet = () => Promise.reject(new Error('password hunter2'));
    const call = open();
    call.write(line('1'));
    await call.said({ type: 'urn:ledgerline:problem:internal' });
    expect(call.text()).not.toContain('hunter2');
    expect(lines()).toContain('hunter2');
  });
});

describe('a stream whose session has a rate', () => {
  it('is read no further while it has had too much, and ends only where that would last', async () => {
    await start({ access: { rates: { sessionEvents: 100 } } });
    const call = open();
    // a burst of two seconds, and a tenth of one
    call.write(line('1').repeat(210));
    await call.said({ counter: 210 });
    call.write(line('2').repeat(10));
    await call.said({ counter: 220 });
    call.write(line('3').repeat(400));
    await call.said({ counter: 620 });
    call.write(line('4'));
    await call.said({ type: 'urn:ledgerline:problem:rate_limited', limit: 'sessionEvents', max: 100 });
    await eventually('the answer has ended', () => call.isOver);
    expect(call.lines().at(-1)).toMatchObject({ status: 429, retryAfter: expect.any(Number) });
    expect(stored).not.toContain('4');
  });
});

describe('a stream that cannot begin', () => {
  it.each<[string, ProducerRow | undefined, number, object]>([
    ['producer=p', row, 400, { where: 'sequence' }],
    ['producer=p&sequence=0', row, 400, { where: 'sequence' }],
    ['producer=p&sequence=1e3', row, 400, { where: 'sequence' }],
    ['producer=p&sequence=9007199254740992', row, 400, { where: 'sequence' }],
    ['sequence=1', row, 400, { where: 'producer' }],
    ['producer=a%20b&sequence=1', row, 400, { where: 'producer' }],
    ['producer=p&producer=q&sequence=1', row, 400, { where: 'producer' }],
    ['producer=p&sequence=1', undefined, 404, { type: 'urn:ledgerline:problem:session_unknown' }],
    [
      'producer=p&sequence=1',
      { state: 'deleted', counter: 0, first: undefined, last: undefined },
      410,
      { type: 'urn:ledgerline:problem:session_deleted' },
    ],
    [
      'producer=p&sequence=1',
      { state: 'closed', counter: 0, first: undefined, last: undefined },
      409,
      { type: 'urn:ledgerline:problem:session_closed' },
    ],
    [
      'producer=p&sequence=9',
      { state: 'open', counter: 9, first: toSequence(1), last: toSequence(9) },
      409,
      { type: 'urn:ledgerline:problem:producer_overlap', counter: 9 },
    ],
  ])('with %s is refused by its status: %j', async (query, found, status, problem) => {
    await start();
    row = found;
    const call = open(query);
    expect(await call.opened).toBe(status);
    await eventually('the problem is there', () => call.text().endsWith('}'));
    expect(JSON.parse(call.text())).toMatchObject(problem);
    call.request.destroy();
  });

  it('compressed, or on the public side, is refused', async () => {
    await start();
    const compressed = open('producer=p&sequence=1', { 'content-encoding': 'gzip' });
    expect(await compressed.opened).toBe(415);
    compressed.request.destroy();
  });
});

describe('the end of a stream', () => {
  it('comes behind an acknowledged batch when the server drains', async () => {
    await start();
    const held = gate();
    const call = open();
    call.write(line('1'));
    await eventually('the first is being stored', () => held.waiting() === 1);
    call.write(line('2'));
    draining.abort();
    held.open();
    await eventually('the answer has ended', () => call.isOver);
    expect(call.lines()).toEqual([{ first: 1, last: 1, counter: 1 }, { end: 'draining' }]);
    expect(stored).toEqual(['1']);
    const late = open('producer=p&sequence=2');
    expect(await late.opened).toBe(503);
    late.request.destroy();
  });

  it('leaves nothing of what came with a cut but what was being stored', async () => {
    await start();
    const held = gate();
    const call = open();
    call.write(line('1'));
    await eventually('the first is being stored', () => held.waiting() === 1);
    call.write(line('2') + '{"type":"a",');
    call.request.destroy();
    const { metrics } = gateway;
    held.open();
    await eventually('the request is over', async () => (await metrics.requests.get()).values.length === 1);
    expect(stored).toEqual(['1']);
  });

  it('comes when nothing is said for long; until then it is kept awake from this side', async () => {
    const clock = manualClock();
    await start({ clock });
    const call = open();
    await call.opened;
    for (let lines = 1; lines <= 3; lines += 1) {
      await eventually('a blank line is there', () => call.text() === '\n'.repeat(lines));
      await clock.advance(limits.syncMs);
    }
    expect(call.isOver).toBe(false);
    await clock.advance(lineLimits.ingressIdleMs);
    await call.said({ end: 'idle' });
    await call.end();
  });
});
