/** What a follower does about a stream that cannot be right: it says so, keeps what was right, and reads again. */
import { describe, expect, test } from 'vitest';
import { followScripted } from '../../support/followed-session.ts';
import { eventOf, frames, ScriptedSession } from '../../support/scripted-session.ts';

const head = 6;
const event = (sequence: number) => frames.event(eventOf(sequence));
const opening = [frames.retry(1_000), frames.hello(0, head)];

/** The first visit says this; every later one is served right. */
function followWrong(...texts: (string | Uint8Array)[]) {
  const session = new ScriptedSession(head);
  session.receive = (visit, index) => (index === 0 ? visit.say(...texts) : session.serve(visit));
  return followScripted({ at: session });
}

const unheard = new TextEncoder()
  .encode('id: 3\ndata: {"sequence":3,"type":"note","at":"x","data":"?"}\n\n')
  .map((byte) => (byte === 63 ? 0xff : byte));

describe('is reported, and healed from the cursor, with what came before it kept:', () => {
  test.each([
    ['a gap', [event(1), event(2), event(4)], { kind: 'gap', expected: 3, got: 4 }, 2],
    ['a repeat', [event(1), event(2), event(2)], { kind: 'repeat', expected: 3, got: 2 }, 2],
    ['a step back', [event(1), event(2), event(3), event(1)], { kind: 'repeat', expected: 4, got: 1 }, 3],
    ['a loss that only `sync` shows', [event(1), frames.sync(2)], { kind: 'gap', expected: 2 }, 1],
    ['a loss that only `connected` shows', [event(1), frames.connected(6)], { kind: 'gap', expected: 2 }, 1],
    ['a loss that only the end shows', [event(1), frames.end(6)], { kind: 'gap', expected: 2 }, 1],
    ['a loss that only the goaway shows', [event(1), frames.goaway(6, 900)], { kind: 'gap', expected: 2 }, 1],
    ['a server that believes in less', [event(1), event(2), frames.sync(1)], { kind: 'malformed', expected: 3 }, 2],
    ['no JSON', [event(1), 'id: 2\ndata: {"sequence":2\n\n'], { kind: 'malformed', expected: 2 }, 1],
    ['no event', [event(1), 'id: 2\ndata: {"sequence":2}\n\n'], { kind: 'malformed', expected: 2 }, 1],
    ['an id of another event', [event(1), event(2).replace('id: 2', 'id: 3')], { kind: 'malformed', expected: 2 }, 1],
    ['no id', [event(1), event(2).replace('id: 2\n', '')], { kind: 'malformed', expected: 2 }, 1],
    ['an empty id', [event(1), event(2).replace('id: 2', 'id: ')], { kind: 'malformed', expected: 2 }, 1],
    [
      'an id that is no cursor',
      [event(1), frames.sync(1).replace('id: 1', 'id: 01')],
      { kind: 'malformed', expected: 2 },
      1,
    ],
    [
      'a control frame without a head',
      [event(1), 'event: sync\nid: 1\ndata: {}\n\n'],
      { kind: 'malformed', expected: 2 },
      1,
    ],
    [
      'a control frame that is no object',
      [event(1), 'event: sync\nid: 1\ndata: null\n\n'],
      { kind: 'malformed', expected: 2 },
      1,
    ],
    ['a second hello', [event(1), frames.hello(1, head)], { kind: 'malformed', expected: 2 }, 1],
    ['bytes that are no UTF-8', [event(1), event(2), unheard], { kind: 'malformed', expected: 3 }, 2],
  ])('%s', async (_, texts, fault, kept) => {
    const followed = followWrong(...opening, ...texts);
    await followed.clock.settle();
    expect(followed.faults).toEqual([fault]);
    expect(followed.sequences).toEqual(Array.from({ length: kept }, (__, index) => index + 1));
    expect(followed.statuses.at(-1)).toMatchObject({ state: 'waiting', cause: 'fault', attempt: 1 });
    expect(followed.session.open).toEqual([]);
    await followed.clock.advance(1_000);
    expect(followed.session.cursors).toEqual([0, kept]);
    expect(followed.sequences).toEqual([1, 2, 3, 4, 5, 6]);
    expect(followed.states.at(-1)).toBe('live');
    followed.follower.stop();
  });

  test('in one piece of text as well', async () => {
    const followed = followWrong([...opening, event(1), event(2), event(4), event(5)].join(''));
    await followed.clock.advance(1_000);
    expect(followed.faults).toEqual([{ kind: 'gap', expected: 3, got: 4 }]);
    expect(followed.session.cursors).toEqual([0, 2]);
    expect(followed.sequences).toEqual([1, 2, 3, 4, 5, 6]);
    followed.follower.stop();
  });
});

describe('before the hello', () => {
  test.each([
    ['an event', [event(1)]],
    ['a `sync`', [frames.sync(0)]],
    ['the end', [frames.end(0)]],
    ['a hello from elsewhere, and no reset', [frames.hello(3, head), event(4)]],
    ['a hello from elsewhere that goes on', [frames.hello(3, head), frames.connected(3)]],
  ])('%s is out of place', async (_, texts) => {
    const followed = followWrong(...texts);
    await followed.clock.settle();
    expect(followed.faults).toEqual([{ kind: 'malformed', expected: 1 }]);
    expect(followed.events).toEqual([]);
    await followed.clock.advance(1_000);
    expect(followed.sequences).toEqual([1, 2, 3, 4, 5, 6]);
    followed.follower.stop();
  });

  test('nothing is made of frames whose names are not known yet, nor of unknown fields', async () => {
    const later = 'event: weather\ndata: fine\n\nevent: weather\nid: 77\ndata: {}\n\ncolour: red\n\n: a comment\n\n';
    const followed = followWrong(later, ...opening, later, event(1), later, event(2));
    await followed.clock.settle();
    expect(followed.faults).toEqual([]);
    expect(followed.sequences).toEqual([1, 2]);
    followed.follower.stop();
  });
});

test('faults in a row do not hammer, and a stream that holds for a while ends the row', async () => {
  const session = new ScriptedSession(head);
  const attempts = (): number[] =>
    followed.statuses.flatMap((status) => (status.state === 'waiting' ? [status.attempt] : []));
  session.receive = (visit) => visit.say(frames.retry(0), frames.hello(0, head), event(2));
  const followed = followScripted({ at: session });
  await followed.clock.advance(60_000);
  expect(attempts().slice(0, 5)).toEqual([1, 2, 3, 4, 5]);
  expect(session.visits.length).toBeLessThan(60);

  // a cut after the hello proves nothing, and after `connected` it does
  session.receive = (visit) => {
    visit.say(frames.retry(0), frames.hello(0, head));
    visit.cut();
  };
  let seen = attempts().length;
  await followed.clock.advance(10_000);
  expect(attempts()[seen]).toBeGreaterThan(5);
  expect(attempts().at(-1)).toBe(attempts().length);
  session.receive = (visit) => {
    session.serve(visit);
    visit.cut();
  };
  seen = attempts().length;
  await followed.clock.advance(6_000);
  expect(attempts()[seen]).toBe(0);

  // a fault after hours of health is the first of its row
  session.receive = (visit) => session.serve(visit);
  await followed.clock.advance(6_000);
  await followed.clock.advance(30_000);
  session.last.say(frames.sync(head));
  await followed.clock.advance(36_000);
  session.last.say(event(99));
  await followed.clock.settle();
  expect(attempts().at(-1)).toBe(0);
  expect(followed.faults.at(-1)).toEqual({ kind: 'gap', expected: head + 1, got: 99 });
  followed.follower.stop();
});

describe('a reset', () => {
  test('explains a hello from elsewhere, and the events go on from the floor', async () => {
    const session = new ScriptedSession(head);
    session.receive = (visit) =>
      visit.say(
        frames.retry(1),
        frames.hello(4, head, 4),
        frames.reset('expired', 4, head),
        session.text(4),
        frames.connected(head),
      );
    const followed = followScripted({ at: session, after: 2 });
    await followed.clock.settle();
    expect(followed.resets).toEqual([{ reason: 'expired', cursor: 4, head }]);
    expect(followed.sequences).toEqual([5, 6]);
    expect(followed.faults).toEqual([]);
    expect(followed.states).toEqual(['replaying', 'live']);
    followed.follower.stop();
  });

  test('in the middle of a stream moves the cursor, and the head falls', async () => {
    const followed = followScripted({ at: new ScriptedSession(head) });
    await followed.clock.settle();
    followed.session.last.say(frames.reset('restored', 0, 2), event(1), event(2), frames.sync(2));
    await followed.clock.settle();
    expect(followed.resets).toEqual([{ reason: 'restored', cursor: 0, head: 2 }]);
    expect(followed.sequences).toEqual([1, 2, 3, 4, 5, 6, 1, 2]);
    expect([followed.follower.cursor, followed.follower.head]).toEqual([2, 2]);
    expect(followed.faults).toEqual([]);
    followed.session.last.cut();
    await followed.clock.advance(2_000);
    expect(followed.session.cursors).toEqual([0, 2]);
    followed.follower.stop();
  });

  test('that is cut off behind its hello leaves the cursor where it was', async () => {
    const session = new ScriptedSession(head);
    session.receive = (visit, index) => {
      if (index > 0) return session.serve(visit);
      visit.say(frames.retry(1), frames.hello(4, head, 4));
      visit.cut();
    };
    const followed = followScripted({ at: session, after: 2 });
    await followed.clock.advance(1_000);
    expect(session.cursors).toEqual([2, 2]);
    expect(followed.sequences).toEqual([3, 4, 5, 6]);
    followed.follower.stop();
  });
});

test('from the head on is where the hello says, also after a cut', async () => {
  const followed = followScripted({ at: new ScriptedSession(head), after: 'head' });
  expect(followed.follower.cursor).toBe('head');
  await followed.clock.settle();
  expect([followed.follower.cursor, followed.states]).toEqual([head, ['replaying', 'live']]);
  followed.session.last.cut();
  followed.session.append(2);
  await followed.clock.advance(1_000);
  expect(followed.session.cursors).toEqual(['head', head]);
  expect(followed.sequences).toEqual([7, 8]);
  followed.follower.stop();
});

test('256 MiB without a line break are a bounded error [teamclaude#341]', async () => {
  const session = new ScriptedSession(head);
  const piece = new Uint8Array(1024 * 1024).fill(120);
  let given = 0;
  const endless = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        if (given === 256) return controller.close();
        given += 1;
        controller.enqueue(given === 1 ? new TextEncoder().encode(`${opening.join('')}id: 1\ndata: `) : piece);
      },
    },
    { highWaterMark: 0 },
  );
  session.meet = (_, index) =>
    index === 0 ? new Response(endless, { headers: { 'content-type': 'text/event-stream' } }) : undefined;
  const followed = followScripted({ at: session });
  await followed.clock.settle();
  expect(followed.faults).toEqual([{ kind: 'malformed', expected: 1 }]);
  expect(given).toBeLessThan(8);
  await followed.clock.advance(1_000);
  expect(followed.sequences).toEqual([1, 2, 3, 4, 5, 6]);
  followed.follower.stop();
});

test('the largest event there can be, made of escapes, is no such error', async () => {
  const session = new ScriptedSession();
  session.events.push(eventOf(1, '\u0085'.repeat(512 * 1024)));
  session.receive = (visit) => {
    const text = session.text(0).replaceAll('\u0085', String.raw`\u0085`);
    visit.say(frames.retry(1), frames.hello(0, 1));
    for (let start = 0; start < text.length; start += 65_536) visit.say(text.slice(start, start + 65_536));
    visit.say(frames.connected(1));
  };
  const followed = followScripted({ at: session });
  await followed.clock.settle();
  expect(followed.faults).toEqual([]);
  expect(followed.events).toEqual(session.events);
  followed.follower.stop();
});
