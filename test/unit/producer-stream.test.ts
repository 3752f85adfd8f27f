/** The producer's stream: batches over one request while it lasts, and what becomes of one that it does not outlast. */
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { producerLimits } from '../../src/base/producer-limits.ts';
import { createProducer } from '../../src/producer/producer.ts';
import { manualClock } from '../support/manual-clock.ts';
import { eventually } from '../support/waits.ts';

/** What a stream does with a batch: stores and says so, stores in part or in silence, says a last line, or breaks. */
type Act = 'store' | 'store and break' | 'store half and break' | 'break' | 'nothing' | { readonly lastLine: object };

function scene({ clock = systemClock }: { clock?: typeof systemClock } = {}) {
  const stored: unknown[] = [];
  const requests: string[] = [];
  const acts: Act[] = [];
  const slept: number[] = [];
  let status: number | undefined;
  let problem: object = {};
  /** Runs before the question for the counter is answered. */
  let beforeAnswer = (): void => undefined;
  /** Runs before a request of its own arrives. */
  let beforeRequest = (): void => undefined;

  function keep(lines: readonly string[]): string {
    const first = stored.length + 1;
    stored.push(...lines.map((line) => (JSON.parse(line) as { data: unknown }).data));
    return `${JSON.stringify({ first, last: stored.length, counter: stored.length })}\n`;
  }

  function stream(body: ReadableStream<Uint8Array>): Response {
    const answer = new TransformStream<Uint8Array, Uint8Array>();
    const writer = answer.writable.getWriter();
    const say = (text: string) => writer.write(new TextEncoder().encode(text));
    void (async () => {
      await say('\n');
      for await (const chunk of body) {
        const lines = new TextDecoder().decode(chunk).split('\n').slice(0, -1);
        const act = acts.shift() ?? 'store';
        if (act === 'store') await say(keep(lines));
        if (act === 'store and break') keep(lines);
        if (act === 'store half and break') keep(lines.slice(0, Math.floor(lines.length / 2)));
        if (typeof act === 'object') await say(`${JSON.stringify(act.lastLine)}\n`);
        if (typeof act === 'object') return writer.close();
        if (typeof act === 'string' && act.endsWith('break')) return writer.abort(new Error('other side closed'));
      }
      await say('{"end":"complete"}\n');
      return writer.close();
    })().catch(() => undefined);
    return new Response(answer.readable, { status: 200 });
  }

  const fetch_: typeof fetch = async (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    const isStream = new Headers(init?.headers).get('content-type') === 'application/x-ndjson';
    requests.push(isStream ? `stream from ${url.searchParams.get('sequence')}` : (init?.method ?? 'GET'));
    await turn();
    if (isStream && status !== undefined) return Response.json(problem, { status });
    if (isStream) return stream(init?.body as ReadableStream<Uint8Array>);
    if (init?.method === 'GET') {
      beforeAnswer();
      return Response.json({ counter: stored.length, first: 1, last: stored.length });
    }
    beforeRequest();
    const { events, producer: from } = JSON.parse(init?.body as string) as {
      events: { data: unknown }[];
      producer: { sequence: number };
    };
    const first = stored.length + 1;
    if (from.sequence < first) {
      const overlap = { type: 'urn:ledgerline:problem:producer_overlap', status: 409, counter: stored.length };
      return Response.json(overlap, { status: 409 });
    }
    stored.push(...events.map(({ data }) => data));
    return Response.json({ first, last: stored.length }, { status: 201 });
  };
  const producer = createProducer(
    { url: 'http://gateway', key: 'k', session: 's1', producer: 'p', fetch: fetch_ },
    {
      clock,
      sleep: async (delayMs) => {
        slept.push(delayMs);
        await turn();
      },
    },
  );
  return {
    stored,
    requests,
    slept,
    producer,
    meet: (...next: Act[]) => void acts.push(...next),
    refuse(next: number, body: object = {}) {
      status = next;
      problem = body;
    },
    onQuestion: (run: () => void) => void (beforeAnswer = run),
    onRequest: (run: () => void) => void (beforeRequest = run),
    keep: (data: unknown) => keep([JSON.stringify({ data })]),
    async send(...data: unknown[]) {
      for (const each of data) void producer.append('x', each);
      return producer.flush();
    },
  };
}

test('batches go over one request, which ends with the producer', async () => {
  const { producer, requests, send, stored } = scene();
  expect(await send(1, 2)).toEqual({ last: 2 });
  expect(await send(3)).toEqual({ last: 3 });
  expect(await producer.close()).toEqual({ last: 3 });
  expect(requests).toEqual(['stream from 1']);
  expect(stored).toEqual([1, 2, 3]);
});

test.each<[Act, string[]]>([
  ['break', ['stream from 1', 'GET', 'stream from 2']],
  ['store and break', ['stream from 1', 'GET']],
  ['store half and break', ['stream from 1', 'GET', 'stream from 3']],
])('after a cut (%s) it asks, and sends what is missing', async (act, requests) => {
  const there = scene();
  await there.send('a');
  there.meet(act);
  expect(await there.send('b', 'c')).toEqual({ last: 3 });
  expect(there.stored).toEqual(['a', 'b', 'c']);
  expect(there.requests).toEqual(requests);
  expect(await there.send('d')).toEqual({ last: 4 });
  expect(there.stored).toEqual(['a', 'b', 'c', 'd']);
});

test.each(['draining', 'idle'])(
  'where the server ends the stream (%s) another takes the rest, without a question',
  async (end) => {
    const there = scene();
    await there.send('a');
    there.meet({ lastLine: { end } });
    await there.send('b');
    expect(there.stored).toEqual(['a', 'b']);
    expect(there.requests).toEqual(['stream from 1', 'stream from 2']);
  },
);

test('a batch that arrives behind the answer to the question is met as a repeat, and asked about again', async () => {
  const there = scene();
  await there.send('a');
  there.meet('break', { lastLine: { type: 'urn:ledgerline:problem:producer_overlap', status: 409, counter: 2 } });
  let asked = 0;
  there.onQuestion(() => {
    asked += 1;
    if (asked === 2) there.keep('b');
  });
  expect(await there.send('b')).toEqual({ last: 2 });
  expect(there.stored).toEqual(['a', 'b']);
});

test('a repeat without a failure before it is somebody else’s [I8]', async () => {
  const there = scene();
  there.meet({ lastLine: { type: 'urn:ledgerline:problem:producer_overlap', status: 409, counter: 1 } });
  await expect(there.send('a')).rejects.toMatchObject({ code: 'producer_overlap', fields: { counter: 1 } });
});

test('more that is stored under its counters than it has sent is somebody else’s, whatever broke [I8]', async () => {
  const there = scene();
  there.meet('store and break');
  there.onQuestion(() => void there.keep('other'));
  await expect(there.send('a')).rejects.toMatchObject({ code: 'producer_overlap', fields: { counter: 2 } });
});

test('a refusal in the stream is the producer’s', async () => {
  const there = scene();
  await there.send('a');
  there.meet({ lastLine: { type: 'urn:ledgerline:problem:session_closed', status: 409, detail: 'closed' } });
  await expect(there.send('b')).rejects.toMatchObject({ code: 'session_closed', message: 'closed' });
});

test('a fault that passes is tried again', async () => {
  const there = scene();
  there.meet({ lastLine: { type: 'urn:ledgerline:problem:unavailable', status: 503 } });
  await there.send('a');
  expect(there.requests).toEqual(['stream from 1', 'GET', 'stream from 1']);
  expect(there.stored).toEqual(['a']);
});

test('a last line that asks to wait is heard, and nothing is sent sooner', async () => {
  const there = scene();
  there.meet({ lastLine: { type: 'urn:ledgerline:problem:rate_limited', status: 429, retryAfter: 7 } });
  await there.send('a');
  expect(there.slept).toEqual([expect.closeTo(7_075, -2)]);
  expect(there.stored).toEqual(['a']);
});

test.each([411, 415, 501])('where a stream is answered %i, requests of their own do for good', async (status) => {
  const there = scene();
  there.refuse(status);
  await there.send('a');
  await there.send('b');
  expect(there.requests).toEqual(['stream from 1', 'POST', 'POST']);
  expect(there.stored).toEqual(['a', 'b']);
});

test('where nothing comes back at first, something holds it: it asks, and requests of their own do for good', async () => {
  const clock = manualClock();
  const there = scene({ clock });
  there.meet('nothing');
  const sent = there.send('a');
  await eventually('the stream is open', () => there.requests.length === 1);
  await clock.advance(producerLimits.streamProbeMs);
  expect(await sent).toEqual({ last: 1 });
  await there.send('b');
  expect(there.requests).toEqual(['stream from 1', 'GET', 'POST', 'POST']);
});

test('a part that the given up stream still had on its way is met as a repeat, and asked about again', async () => {
  const clock = manualClock();
  const there = scene({ clock });
  there.meet('nothing');
  let late = 1;
  there.onRequest(() => {
    if (late-- > 0) there.keep('a');
  });
  const sent = there.send('a', 'b', 'c');
  await eventually('the stream is open', () => there.requests.length === 1);
  await clock.advance(producerLimits.streamProbeMs);
  expect(await sent).toEqual({ last: 3 });
  expect(there.stored).toEqual(['a', 'b', 'c']);
  expect(there.requests).toEqual(['stream from 1', 'GET', 'POST', 'GET', 'POST']);
});

test('a stream without events ends by itself, and the next batch opens another', async () => {
  const clock = manualClock();
  const there = scene({ clock });
  await there.send('a');
  await clock.advance(producerLimits.streamIdleMs);
  await there.send('b');
  expect(there.requests).toEqual(['stream from 1', 'stream from 2']);
  expect(there.stored).toEqual(['a', 'b']);
});
