/** Workers that hang beyond their leases, and wake: whatever they do then, others have done, or nobody sees it. */
import { expect, it } from 'vitest';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';
import type { DeafWrite } from '../support/deaf-worker.ts';
import { metric } from '../support/gateway-calls.ts';
import { turnCrew } from '../support/turn-crew.ts';
import { eventually } from '../support/waits.ts';

type Run = AgentDefinition['run'];

const LEASE_MS = 1_000;

/** The first try never ends by itself. */
const goesOn: Run = async (turn) => {
  do {
    await turn.append('text.delta', { message: turn.turn, text: '.', pid: process.pid });
    await turn.flush();
  } while (turn.tryNumber === 1);
  return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
};

it('a worker that minds no lease, frozen beyond it, is refused at its first write after waking, and at every other [I11] [oban#1141]', async () => {
  const crew = await turnCrew({ leaseMs: LEASE_MS });
  const session = await crew.session();
  const endless = { pieces: Number.MAX_SAFE_INTEGER, pauseMs: 5 };
  const deaf = await crew.deafWorker(endless);
  const writes = (): DeafWrite[] => deaf.lines().map((line) => JSON.parse(line) as DeafWrite);
  await crew.say(session, 'Where is order 7731?');
  await crew.hears(session, 'text.delta', 5);
  deaf.freeze();
  const successor = await crew.deafWorker(endless);
  await crew.hears(session, 'turn.started', 2);

  // the same turn runs, and is another's
  deaf.thaw();
  await eventually('it has tried to finish', () => writes().some(({ what }) => what === 'finish'));
  const firstRefused = writes().findIndex(({ status }) => status !== 201);
  expect(writes().slice(firstRefused)).toMatchObject([
    { what: 'append', status: 409, code: 'fenced' },
    { what: 'finish', status: 409, code: 'fenced' },
  ]);
  expect(await metric(crew.at, 'ledgerline_fenced_writes_total')).toBe(2);
  const stored = (await crew.told(session)).filter(({ attempt }) => attempt === writes()[0]?.attempt);
  expect(stored.flatMap(({ data }) => data['mark'] ?? [])).toEqual(
    writes()
      .slice(0, firstRefused)
      .map(({ mark }) => mark),
  );
  const told = writes().length;
  await deaf.kill();
  expect(told).toBe(firstRefused + 2);

  await successor.kill();
  await crew.worker({ run: goesOn });
  await crew.hears(session, 'turn.completed');
  expect(await crew.breaches()).toEqual([]);
});

it('a worker frozen beyond its lease stops itself when it wakes, and nothing that it did is done twice [oban#1141, bull#1416]', async () => {
  const crew = await turnCrew({ leaseMs: LEASE_MS });
  const session = await crew.session();
  const frozen = await crew.worker({ run: goesOn });
  await crew.say(session, 'Where is order 7731?');
  await crew.hears(session, 'text.delta', 5);
  frozen.freeze();
  await crew.worker({ run: goesOn });
  await crew.hears(session, 'turn.completed');
  const head = (await crew.told(session)).length;
  frozen.thaw();
  // by its watchdog, unless its loop is the first to look at the clock
  await eventually('it has given the turn up', () => {
    return !frozen.isRunning || frozen.lines().some((line) => line.includes('an attempt ends unsettled'));
  });
  expect(await crew.told(session)).toHaveLength(head);
  expect(await crew.breaches()).toEqual([]);
});

it('a worker whose loop is blocked beyond its lease is ended by its watchdog, and another one answers [oban#1141]', async () => {
  const crew = await turnCrew({ leaseMs: LEASE_MS });
  const session = await crew.session();
  const run: Run = async (turn) => {
    await turn.append('text.delta', { message: turn.turn, text: '.' });
    await turn.flush();
    if (turn.tryNumber === 1) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return [{ type: 'message.completed', data: { message: turn.turn, role: 'assistant' } }];
  };
  const blocked = await crew.worker({ run });
  await crew.say(session, 'Where is order 7731?');
  expect(await blocked.exit).toBe(128 + 9);
  expect(blocked.lines().some((line) => line.includes('the loop is blocked'))).toBe(true);
  await crew.worker({ run });
  await crew.hears(session, 'turn.completed');
  expect(await crew.breaches()).toEqual([]);
});
