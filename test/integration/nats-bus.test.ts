/** The NATS bus when the server is away, dies, freezes or complains. */
import { randomBytes } from 'node:crypto';
import { connect } from 'nats';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { sleep as wait, systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import type { Broadcast, Bus, SuspectReason } from '../../src/bus/bus.ts';
import { natsBus } from '../../src/bus/nats-bus.ts';
import { knock, parseServers } from '../../src/base/nats-server.ts';
import { events } from '../contract/bus.ts';
import { scriptedNats } from '../support/scripted-nats.ts';
import type { Script } from '../support/scripted-nats.ts';
import { sharedNatsUrl, startNats } from '../support/services.ts';
import { eventually } from '../support/waits.ts';

// Only to see how long it waits.
vi.mock(import('../../src/base/clock.ts'), { spy: true });

const atEnd: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of atEnd.splice(0).toReversed()) await end();
});

async function ownNats() {
  const server = await startNats();
  atEnd.push(() => server.stop());
  return server;
}

async function scripted(script?: Script) {
  const server = await scriptedNats(script);
  atEnd.push(() => server.stop());
  return server;
}

/** A bus, with what it suspected and how its broadcasts went. */
function makeBus(url: string, subjectRoot = `test.${randomBytes(6).toString('hex')}`) {
  const metrics = createMetrics();
  const bus = natsBus({ url, subjectRoot, log: silentLog, metrics, clock: systemClock });
  const suspected: SuspectReason[] = [];
  bus.onSuspect((reason) => suspected.push(reason));
  atEnd.push(() => bus.stop());
  const went = async (kind: string) => {
    const { values } = await metrics.broadcasts.get();
    return values.find((value) => value.labels.kind === kind)?.value ?? 0;
  };
  return { bus, subjectRoot, suspected, went };
}

async function busAt(url: string, subjectRoot?: string) {
  const made = makeBus(url, subjectRoot);
  await made.bus.start();
  return made;
}

function listen(bus: Bus, session: string) {
  const heard: Broadcast[] = [];
  const subscription = bus.subscribe(session, (broadcast) => heard.push(broadcast));
  let isReady = false;
  const ready = subscription.ready.then(() => void (isReady = true));
  return { heard, subscription, ready, isReady: () => isReady };
}

/** After this, everything that was published before has been delivered. */
async function settle(bus: Bus): Promise<void> {
  const { heard, ready, subscription } = listen(bus, 'settle');
  await ready;
  bus.publish('settle', { kind: 'head' });
  await eventually('the marker arrives', () => heard.length > 0);
  subscription.unsubscribe();
}

describe('a server that is away', () => {
  test('at the start does not fail the start, and is found when it comes', async () => {
    const server = await ownNats();
    await server.kill();
    const { bus, suspected, went } = await busAt(server.url);
    expect(bus.isAway).toBe(true);
    const { heard, ready, isReady } = listen(bus, 's1');
    bus.publish('s1', events(1, 1));
    expect(await went('away')).toBe(1);
    expect(isReady()).toBe(false);
    await server.restart();
    await ready;
    expect(bus.isAway).toBe(false);
    expect(suspected).toEqual(['reconnected']);
    bus.publish('s1', events(2, 2, 'two'));
    await eventually('what was published after it came arrives', () => heard.length > 0);
    expect(heard).toEqual([events(2, 2, 'two')]);
  });

  test('after a crash is told at once, and every subscription is there again when it is back (OpenBot#310)', async () => {
    const server = await ownNats();
    const { bus, suspected } = await busAt(server.url);
    const before = listen(bus, 'before');
    const given = listen(bus, 'given-up');
    await before.ready;
    await server.kill();
    await eventually('the loss is told', () => suspected.includes('away'));
    expect(bus.isAway).toBe(true);
    const meanwhile = listen(bus, 'meanwhile');
    given.subscription.unsubscribe();
    bus.publish('before', events(1, 1));
    await server.restart();
    await meanwhile.ready;
    for (const session of ['before', 'meanwhile', 'given-up']) bus.publish(session, events(2, 2));
    await settle(bus);
    expect(before.heard).toEqual([events(2, 2)]);
    expect(meanwhile.heard).toEqual([events(2, 2)]);
    expect(given.heard).toEqual([]);
    expect(suspected.slice(-2)).toEqual(['away', 'reconnected']);
  });

  test('and comes and goes is found each time', async () => {
    const server = await ownNats();
    const { bus, suspected } = await busAt(server.url);
    for (let round = 1; round <= 3; round += 1) {
      await server.restart();
      await eventually(
        'it is found again',
        () => suspected.filter((reason) => reason === 'reconnected').length > round,
      );
      await settle(bus);
    }
  });

  test('does not hold up the stop', async () => {
    const server = await ownNats();
    await server.kill();
    const { bus } = await busAt(server.url);
    await bus.stop();
    expect(bus.isAway).toBe(true);
  });
});

describe('a frozen server', () => {
  test('is noticed by its silence, and used again when it thaws', async () => {
    const server = await ownNats();
    const { bus, suspected } = await busAt(server.url);
    const { heard, ready } = listen(bus, 's1');
    await ready;
    server.freeze();
    await eventually('the silence is noticed', () => suspected.includes('away'));
    expect(bus.isAway).toBe(true);
    server.thaw();
    await eventually('it is back', () => !bus.isAway);
    bus.publish('s1', events(3, 3));
    await eventually('it delivers again', () => heard.length > 0);
    expect(heard).toEqual([events(3, 3)]);
  });

  test('is noticed also behind full buffers, which stay bounded [I6]', async () => {
    const server = await ownNats();
    const { bus, suspected, went } = await busAt(server.url);
    server.freeze();
    for (let sequence = 1; sequence <= 100; sequence += 1)
      bus.publish('s1', events(sequence, sequence, 'x'.repeat(900_000)));
    expect(await went('overflow')).toBeGreaterThan(50);
    expect(suspected.filter((reason) => reason === 'dropped')).toHaveLength(1);
    await eventually('the silence is noticed', () => bus.isAway);
    await bus.stop();
  });

  test('does not hold up the stop', async () => {
    const server = await ownNats();
    const { bus } = await busAt(server.url);
    server.freeze();
    await bus.stop();
    expect(bus.isAway).toBe(true);
  });

  test('keeps no socket of a try that was given up', async () => {
    const server = await scripted({ isSilent: true });
    const [place] = parseServers(server.url);
    await expect(knock(place!, 20, new AbortController().signal)).rejects.toThrow('no answer within 20 ms');
    const stopping = new AbortController();
    const knocking = knock(place!, 60_000, stopping.signal);
    await eventually('it is connected', () => server.connections > 0);
    stopping.abort();
    await expect(knocking).rejects.toThrow('given up');
    await eventually('nothing is connected', () => server.connections === 0);
  });
});

/** Whether a PING follows the line. */
function askedAfter(lines: readonly string[], line: RegExp): boolean {
  const place = lines.findIndex((candidate) => line.test(candidate));
  return place >= 0 && lines.indexOf('PING', place) > place;
}

describe('a subscription', () => {
  test('is ready only when the server has taken it in', async () => {
    const server = await scripted();
    const { bus } = await busAt(server.url, 'root');
    server.answersPings = false;
    const { ready, isReady } = listen(bus, 's1');
    await eventually('the server is asked', () => askedAfter(server.lines, /^SUB root\.s1 /));
    expect(isReady()).toBe(false);
    server.answersPings = true;
    await ready;
  });

  test('that the server has not taken in leaves the bus away, and its loss then does not keep it so', async () => {
    const server = await scripted();
    server.answersPings = 'first';
    const { bus, suspected } = makeBus(server.url, 'root');
    const { ready, isReady } = listen(bus, 's1');
    const starting = bus.start();
    await eventually('the server is asked', () => askedAfter(server.lines, /^SUB root\.s1 /));
    expect([bus.isAway, isReady(), suspected]).toEqual([true, false, []]);
    server.hangUp();
    server.answersPings = true;
    await starting;
    await ready;
    expect([bus.isAway, suspected]).toEqual([false, ['reconnected']]);
  });

  test('that a lost connection left unconfirmed is confirmed by the next', async () => {
    const server = await scripted();
    const { bus, suspected } = await busAt(server.url, 'root');
    server.answersPings = false;
    const { ready, isReady } = listen(bus, 's1');
    await eventually('the server is asked', () => askedAfter(server.lines, /^SUB root\.s1 /));
    server.hangUp();
    await eventually('the loss is told', () => suspected.includes('away'));
    expect(isReady()).toBe(false);
    server.answersPings = true;
    await ready;
  });

  test('of one session hears nothing of 500 others', async () => {
    const { bus } = await busAt(sharedNatsUrl());
    const sessions = Array.from({ length: 500 }, (_, index) => listen(bus, `s${index}`));
    await Promise.all(sessions.map(({ ready }) => ready));
    for (const index of sessions.keys()) bus.publish(`s${index}`, events(index + 1, index + 1));
    await settle(bus);
    expect(sessions.map(({ heard }) => heard)).toEqual(sessions.map((_, index) => [events(index + 1, index + 1)]));
  });
});

describe('a message', () => {
  test('of 2 MB goes out as its range, and the connection stays (nats.py#896)', async () => {
    const { bus, suspected, went } = await busAt(sharedNatsUrl());
    const { heard, ready } = listen(bus, 's1');
    await ready;
    bus.publish('s1', events(1, 3, 'x'.repeat(2_000_000)));
    bus.publish('s1', events(4, 4, 'x'.repeat(1_000_000)));
    await eventually('both arrive', () => heard.length === 2);
    const [range, whole] = heard;
    expect(range).toEqual(events(1, 3));
    expect(whole?.kind === 'events' && whole.frames?.equals(Buffer.alloc(1_000_000, 'x'))).toBe(true);
    expect([await went('range'), await went('frames')]).toEqual([1, 1]);
    expect(suspected).toEqual(['reconnected']);
  });

  test('obeys the limit that the server names, also a small one', async () => {
    const server = await scripted({ maxPayload: 100 });
    const { bus, went } = await busAt(server.url, 'root');
    bus.publish('s1', events(1, 1, 'x'.repeat(90)));
    expect(await went('range')).toBe(1);
    bus.publish('s1', events(1, 1, 'x'.repeat(50)));
    expect(await went('frames')).toBe(1);
  });

  test('that is foreign or damaged is counted, ignored, and harms nothing after it', async () => {
    const { bus, subjectRoot, went } = await busAt(sharedNatsUrl());
    const { heard, ready } = listen(bus, 's1');
    await ready;
    const stranger = await connect({ servers: sharedNatsUrl() });
    for (const text of ['', 'hello', '1 events 2 1 0\n', '1 events 1 1 9\nshort'])
      stranger.publish(`${subjectRoot}.s1`, text);
    await stranger.flush();
    await stranger.close();
    bus.publish('s1', events(1, 1));
    await eventually('ours arrives', () => heard.length > 0);
    expect(heard).toEqual([events(1, 1)]);
    expect(await went('foreign')).toBe(4);
  });

  test('published just before the stop still leaves', async () => {
    const sender = await busAt(sharedNatsUrl());
    const receiver = await busAt(sharedNatsUrl(), sender.subjectRoot);
    const { heard, ready } = listen(receiver.bus, 's1');
    await ready;
    for (let sequence = 1; sequence <= 1_000; sequence += 1) sender.bus.publish('s1', events(sequence, sequence));
    await sender.bus.stop();
    await eventually('all arrive', () => heard.length === 1_000);
  });

  test('for an id that never passed the door is refused without an error', async () => {
    const { bus, went } = await busAt(sharedNatsUrl());
    for (const id of ['a.b', '*', '>', 'a b', 'é', '']) expect(() => bus.publish(id, { kind: 'head' })).not.toThrow();
    expect(await went('failed')).toBe(6);
  });
});

test('an error that the server reports makes the bus suspect losses', async () => {
  const server = await scripted();
  const { suspected } = await busAt(server.url);
  server.say('-ERR \'Permissions Violation for Publish to "x"\'');
  await eventually('it is told', () => suspected.includes('dropped'));
});

test('a server that ends the connection with an error is dialled again, each time (nats.node#531)', async () => {
  const server = await scripted();
  const { bus, suspected } = await busAt(server.url);
  for (const error of ['Stale Connection', 'Slow Consumer', 'Authentication Timeout', 'Authorization Violation']) {
    const before = suspected.length;
    server.say(`-ERR '${error}'`);
    server.hangUp();
    await eventually(`it is back after ${error}`, () => suspected.slice(before).includes('reconnected') && !bus.isAway);
  }
});

test('a server that takes connections only to end them is asked more and more seldom', async () => {
  const server = await scripted();
  const { bus } = makeBus(server.url);
  bus.onSuspect((reason) => {
    if (reason === 'reconnected') server.hangUp();
  });
  vi.mocked(wait).mockClear();
  await bus.start();
  await eventually('it has waited four times', () => vi.mocked(wait).mock.calls.length >= 4);
  // 50 ms doubled three times, of which jitter takes half at most.
  expect(vi.mocked(wait).mock.calls[3]?.[0]).toBeGreaterThanOrEqual(200);
});

test('a stop while it dials lets go of what the dial brings', async () => {
  const server = await scripted();
  server.answersPings = false;
  const { bus } = makeBus(server.url);
  const started = bus.start();
  await eventually('it dials', () => server.lines.includes('PING'));
  const stopped = bus.stop();
  server.answersPings = true;
  await Promise.all([started, stopped]);
  await eventually('nothing is connected', () => server.connections === 0);
});
