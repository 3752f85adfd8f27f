/** The web client in Node, against a real gateway on a real ledger: through cuts, restarts, expiry and the end. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../src/db/postgres-process.ts';
import { followSession } from '../../web-client/src/follow-session.ts';
import type { Fault, FollowOptions, FollowerStatus, SessionEvent } from '../../web-client/src/follow-session.ts';
import { mergeEvents, readHistory } from '../../web-client/src/history.ts';
import { append, closeSession, deleteSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway, InProcessOptions } from '../support/in-process-gateway.ts';
import { freshDatabase } from '../support/services.ts';
import { appendNumbers, newSession, noSubscribers, subscribersOf } from '../support/session-calls.ts';
import { database } from '../support/stage.ts';
import { recordedStreams } from '../support/streams.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let gateway: InProcessGateway;
let token: string;
let drop: () => Promise<void>;

beforeAll(async () => {
  const fresh = await freshDatabase();
  ({ drop } = fresh);
  gateway = await startInProcessGateway({ config: { databaseUrl: fresh.url } });
  token = await gateway.token();
});
afterAll(async () => {
  await gateway.stop();
  await drop();
});

function follow(session: string, options: Partial<FollowOptions> = {}) {
  const events: SessionEvent[] = [];
  const statuses: FollowerStatus[] = [];
  const faults: Fault[] = [];
  const follower = followSession({
    url: gateway.publicUrl,
    session,
    token,
    onEvents: (batch) => void events.push(...batch),
    onStatus: (status) => void statuses.push(status),
    onFault: (fault) => void faults.push(fault),
    ...options,
  });
  onTestFinished(() => follower.stop());
  return {
    follower,
    events,
    faults,
    numbers: () => events.map(({ data }) => data),
    causes: () => statuses.flatMap((status) => (status.state === 'waiting' ? [status.cause] : [])),
    live: () => eventually('it is live', () => follower.status.state === 'live'),
    reaches: (head: number) => eventually(`it has event ${head}`, () => follower.cursor === head),
  };
}

const expectContiguous = (events: readonly SessionEvent[], head: number) =>
  expect(events.map(({ sequence }) => sequence)).toEqual(range(1, head));

describe('a follower', () => {
  test('replays, is live, and ends with the session', async () => {
    const session = await newSession(gateway, 1_000);
    await appendNumbers(gateway, session, 1_000);
    await appendNumbers(gateway, session, 500);
    const followed = follow(session);
    await followed.live();
    await appendNumbers(gateway, session, 3);
    await followed.reaches(2_503);
    await closeSession(gateway, session);
    expect(await followed.follower.done).toEqual({ kind: 'ended', reason: 'closed' });
    expectContiguous(followed.events, 2_503);
    expect(followed.events.at(-1)).toMatchObject({ sequence: 2_503, type: 'text.delta', data: 3 });
    expect([followed.faults, followed.causes(), followed.follower.head]).toEqual([[], [], 2_503]);
    // and whoever has all of it is told so at once
    expect(await follow(session, { after: 2_503 }).follower.done).toEqual({ kind: 'ended', reason: 'closed' });
  });

  test('is a loop, which is left without a trace', async () => {
    const session = await newSession(gateway, 5);
    const taken: number[] = [];
    const loop = followSession({ url: gateway.publicUrl, session, token });
    for await (const { sequence } of loop) {
      taken.push(sequence);
      if (sequence === 5) void appendNumbers(gateway, session, 1);
      if (sequence === 6) break;
    }
    expect([taken, await loop.done, loop.cursor]).toEqual([range(1, 6), { kind: 'aborted' }, 6]);
    await noSubscribers(gateway, session);
  });

  test('is told of the deletion under it, and of one before it', async () => {
    const session = await newSession(gateway, 2);
    const followed = follow(session);
    await followed.live();
    await deleteSession(gateway, session);
    expect(await followed.follower.done).toEqual({ kind: 'ended', reason: 'deleted' });
    expect(await follow(session).follower.done).toEqual({ kind: 'ended', reason: 'deleted' });
  });

  test('is refused what its token does not reach', async () => {
    const session = await newSession(gateway, 1);
    const refusal = { kind: 'refused', error: { code: 'refused', status: 404, problem: 'session_unknown' } };
    expect(await follow('nowhere').follower.done).toMatchObject(refusal);
    const others = await gateway.token({ sessions: ['other-*'] });
    expect(await follow(session, { token: others }).follower.done).toMatchObject(refusal);
    const unread = await gateway.token({ scope: 'write' });
    expect(await follow(session, { token: unread }).follower.done).toMatchObject({
      error: { status: 403, problem: 'forbidden' },
    });
    expect(await follow(session, { token: 'nonsense' }).follower.done).toMatchObject({
      error: { status: 401, problem: 'unauthorized' },
    });
  });

  test('with a cursor beyond the head is reset to the floor', async () => {
    const session = await newSession(gateway, 3);
    const resets: unknown[] = [];
    const followed = follow(session, { after: 99, onReset: (reset) => void resets.push(reset) });
    await followed.reaches(3);
    expect(resets).toEqual([{ reason: 'ahead', cursor: 0, head: 3 }]);
    expect([followed.numbers(), followed.faults]).toEqual([[1, 2, 3], []]);
  });

  test('from now on gets what comes, and history what was', async () => {
    const session = await newSession(gateway, 120);
    const followed = follow(session, { after: 'head' });
    await followed.live();
    expect([followed.follower.cursor, followed.events]).toEqual([120, []]);
    await appendNumbers(gateway, session, 2);
    await followed.reaches(122);
    const page = await followed.follower.history({ before: 121, limit: 20 });
    expect([page.first, page.last, page.head]).toEqual([101, 120, 122]);
    const start = await readHistory({ url: gateway.publicUrl, session, token, after: 0, limit: 110 });
    const all = mergeEvents(mergeEvents(followed.events, page.events), start.events);
    expectContiguous(all, 122);
  });

  test('whose consumer is slow holds up nothing but itself', async () => {
    const session = await newSession(gateway, 1_000);
    await appendNumbers(gateway, session, 500);
    const taken: number[] = [];
    let release: () => void = () => undefined;
    const followed = follow(session, {
      async onEvents(events) {
        await new Promise<void>((resolve) => (release = resolve));
        taken.push(...events.map(({ sequence }) => sequence));
      },
    });
    const quick = follow(session);
    await quick.reaches(1_500);
    expect([taken, followed.follower.cursor]).toEqual([[], 0]);
    await eventually('it has taken everything', () => {
      release();
      return followed.follower.cursor === 1_500;
    });
    expect(taken).toEqual(range(1, 1_500));
  });
});

describe('through a wire that breaks', () => {
  test('ten cuts cost no event and bring none twice', async () => {
    const session = await newSession(gateway);
    const wire = await startTcpProxy({ port: Number(new URL(gateway.publicUrl).port) });
    onTestFinished(() => wire.stop());
    const followed = follow(session, { url: `http://127.0.0.1:${wire.port}` });
    await followed.live();
    for (let cut = 1; cut <= 10; cut += 1) {
      await appendNumbers(gateway, session, 20);
      await wire.cut();
      await appendNumbers(gateway, session, 20);
      await wire.restore();
      // the browser would tell that the network is back; nothing does here, so the wait is waited out
      if (cut % 2 === 0) followed.follower.reconnect();
      await followed.reaches(cut * 40);
    }
    expectContiguous(followed.events, 400);
    expect(followed.faults).toEqual([]);
  });

  test('severing it on demand comes back from the cursor', async () => {
    const session = await newSession(gateway, 3);
    const followed = follow(session);
    await followed.live();
    followed.follower.reconnect();
    await followed.live();
    await appendNumbers(gateway, session, 1);
    await followed.reaches(4);
    expectContiguous(followed.events, 4);
    expect(followed.causes()).toEqual(['asked']);
    await eventually('only one stream is open', async () => (await subscribersOf(gateway, session)) === 1);
  });
});

test('a gateway that drains gives a slot, and the next one on its port goes on', async () => {
  const { url: databaseUrl } = await database();
  const config: InProcessOptions['config'] = {
    databaseUrl,
    publicPort: await freePort(),
    internalPort: await freePort(),
  };
  const first = await startInProcessGateway({ config });
  const session = await newSession(first, 3);
  const followed = follow(session, { url: first.publicUrl });
  await followed.live();
  await first.stop();
  const second = await startInProcessGateway({ config });
  onTestFinished(() => second.stop());
  await appendNumbers(second, session, 2);
  await followed.reaches(5);
  expectContiguous(followed.events, 5);
  expect([followed.causes()[0], followed.faults]).toEqual(['draining', []]);
});

describe('a token that ends in the middle of a stream', () => {
  const awkward = [String.raw`{"delta":"half \ud83d"}`, String.raw`{"delta":"\ude00 and \u2028"}`, '"{}"', 'null'];

  test('is renewed, and what went in comes out', async () => {
    const streams = [...(recordedStreams() ?? []).map(({ chunks }) => chunks), awkward];
    await Promise.all(
      streams.map(async (chunks) => {
        const session = await newSession(gateway);
        let asked = 0;
        const followed = follow(session, {
          async token() {
            asked += 1;
            return gateway.token({ ttlSeconds: asked === 1 ? 3 : 3_600 });
          },
        });
        const appendChunks = async (from: number, to: number): Promise<void> => {
          for (let start = from; start < to; start += 100)
            await append(gateway, session, ...chunks.slice(start, Math.min(to, start + 100)));
        };
        await followed.live();
        const half = Math.ceil(chunks.length / 2);
        await appendChunks(0, half);
        await eventually('the first token is used up', () => asked === 2);
        await appendChunks(half, chunks.length);
        await followed.reaches(chunks.length);
        expectContiguous(followed.events, chunks.length);
        expect(followed.numbers()).toEqual(chunks.map((chunk) => JSON.parse(chunk) as unknown));
        // a machine that is slow enough uses the first one up at the door, and does not wait at all
        expect(followed.causes().filter((cause) => cause !== 'token')).toEqual([]);
        expect([asked, followed.faults]).toEqual([2, []]);
      }),
    );
  });

  test('is the end, when it is all there is', async () => {
    const session = await newSession(gateway, 1);
    const followed = follow(session, { token: await gateway.token({ ttlSeconds: 2 }) });
    expect(await followed.follower.done).toMatchObject({
      kind: 'refused',
      error: { status: 401, problem: 'unauthorized' },
    });
    expectContiguous(followed.events, 1);
  });
});
