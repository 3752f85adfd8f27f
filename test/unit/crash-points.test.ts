/** The points of the crash lab lie where they say: behind one thing and before the next. */
import { beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/log.ts';
import { channelWithFacts, channelWithPoints } from '../../src/crash/delivery-points.ts';
import { factIn, lineOf } from '../../src/crash/fact.ts';
import type { Fact } from '../../src/crash/fact.ts';
import { dyingAt, modelWithPoints, refundWithPoints, stepsWithPoints, turnsWithEnd } from '../../src/crash/points.ts';
import { stepsWithoutKey } from '../../src/crash/without-step-key.ts';
import { issueRefund } from '../../src/example/refund-tools.ts';
import type { CrashPoint } from '../../src/lab/crash-lab.ts';
import type { Delivery } from '../../src/outbox/delivery.ts';
import { localChannel } from '../../src/outbox/local-channel.ts';
import type { JournaledStep } from '../../src/step/step.ts';
import type { Turns } from '../../src/turn/turns.ts';
import type { WorkerSteps } from '../../src/worker/turn-steps.ts';
import { eventually } from '../support/waits.ts';

let happened: string[];
beforeEach(() => void (happened = []));
const passing = (point: CrashPoint): void => void happened.push(point);
const told = (fact: Fact): void => void happened.push(lineOf(fact));
const does =
  <T>(what: string, result: T) =>
  () => {
    happened.push(what);
    return Promise.resolve(result);
  };

it('a process tells nothing and goes on at every point but its own', () => {
  const at = dyingAt('nowhere', told);
  for (const point of ['model_answered', 'refund_committed', 'entry_committed'] as const) at(point);
  expect(happened).toEqual([]);
});

it('what a process tells is read as it was told, and no line of a log is taken for it', () => {
  const facts: Fact[] = [
    { fact: 'model_asked' },
    { fact: 'dies' },
    { fact: 'published', number: 12 },
    { fact: 'acknowledged', number: 1 },
  ];
  expect(facts.map((fact) => factIn(lineOf(fact)))).toEqual(facts);
  for (const line of ['', '{"level":40}', 'crash-lab: laughs', 'published 3']) expect(factIn(line)).toBeUndefined();
});

it('the model has answered, and its answer is not journaled yet', async () => {
  const ask = modelWithPoints(does('answered', { result: { text: '' } }), passing);
  const steps = stepsWithPoints({ model: does('journaled', {}) } as unknown as WorkerSteps, passing);
  await ask({ text: '', answered: 0, outcomes: [] }, new AbortController().signal);
  await steps.model({ session: 's', turn: 't', attempt: 1 }, 0, {}, { result: '{}', calls: [] });
  expect(happened).toEqual(['answered', 'model_answered', 'journaled', 'model_journaled']);
});

it('the refund is written inside its transaction, and committed behind it', async () => {
  const tool = refundWithPoints({ ...issueRefund, run: does('written', {}) }, passing);
  const transactional: WorkerSteps['transactional'] = async (_attempt, _index, _intent, work) => {
    await work((() => undefined) as never, 'key');
    happened.push('committed');
    return { result: '{}', isFromJournal: false, sequence: undefined };
  };
  const steps = stepsWithPoints({ transactional } as unknown as WorkerSteps, passing);
  const intent = { tool: 'issue_refund', effect: 'transactional', args: {} } as const;
  await steps.transactional({ session: 's', turn: 't', attempt: 1 }, 2, intent, async (tx, key) => ({
    result: await tool.run({ order: '7731', cents: 40 }, { tx, key, deliver: () => undefined }),
  }));
  expect(happened).toEqual(['written', 'refund_written', 'committed', 'refund_committed']);
});

const delivery: Delivery = {
  session: 's',
  outboxSequence: 1,
  identity: 't:2:refund.issued',
  topic: 'refund.issued',
  payload: '{}',
};

const finish = (): ReturnType<Turns['finish']> =>
  does('finished', { state: 'idle', status: 'done', sequence: undefined } as const)();

/** Publishes one delivery to a consumer that applies it, through a channel with the point; resolves with what happened before the turn was over. */
async function carry(point: CrashPoint): Promise<readonly string[]> {
  const { turns, finished } = turnsWithEnd<Pick<Turns, 'finish'>>({ finish });
  const faithful = channelWithFacts(localChannel({ clock: systemClock, log: silentLog }), told);
  const channel = channelWithPoints(faithful, point, passing, finished);
  const stopping = new AbortController();
  const consuming = channel.consume(
    'entries',
    async (received) => {
      await does('applied', undefined)();
      received.acknowledge();
    },
    stopping.signal,
  );
  const publishing = channel.publish(delivery).then(() => happened.push('marked'));
  await eventually('it is applied', () => happened.includes('applied'));
  const before = [...happened];
  await turns.finish({ session: 's', turn: 't', attempt: 1 }, 'completed', []);
  await publishing;
  await eventually('it is acknowledged', () => happened.includes('crash-lab: acknowledged 1'));
  stopping.abort();
  await consuming;
  return before;
}

it('a delivery is published and applied, and its turn over, before it is marked', async () => {
  await carry('delivery_published');
  expect(happened.slice(-2)).toEqual(['delivery_published', 'marked']);
  expect(happened.slice(0, -2).toSorted()).toEqual(
    ['applied', 'crash-lab: acknowledged 1', 'crash-lab: published 1', 'finished'].toSorted(),
  );
});

it('an entry is committed, and its turn over, before the delivery is acknowledged', async () => {
  await carry('entry_committed');
  expect(happened.slice(-3)).toEqual(['finished', 'entry_committed', 'crash-lab: acknowledged 1']);
});

it.each(['delivery_published', 'entry_committed'] as const)(
  '%s is not reached while the turn goes on',
  async (point) => {
    expect(await carry(point)).not.toContain(point);
    expect(happened).toContain(point);
  },
);

it('a delivery goes its way untouched when the point is elsewhere', async () => {
  await carry('refund_written');
  expect(happened.toSorted()).toEqual(
    ['applied', 'crash-lab: acknowledged 1', 'crash-lab: published 1', 'finished', 'marked'].toSorted(),
  );
});

it('without the step key a process finds what it journaled itself, and of what was before only the end', async () => {
  const step = (index: number, kind: JournaledStep['kind'], reserved = 0) =>
    ({ index, kind, reserved }) as JournaledStep;
  let journal = [step(0, 'model', 2), step(1, 'tool')];
  const steps = stepsWithoutKey({ journal: () => Promise.resolve(journal) } as unknown as WorkerSteps);
  const kinds = async () => (await steps.journal('s', 't')).map(({ index, kind }) => [index, kind]);
  expect(await kinds()).toEqual([
    [0, 'input'],
    [1, 'tool'],
  ]);
  // Its own answer, where the two reserved indices end.
  journal = [...journal, step(3, 'model', 2)];
  expect(await kinds()).toEqual([
    [0, 'input'],
    [1, 'tool'],
    [3, 'model'],
  ]);
  // Another process sees neither.
  const other = stepsWithoutKey({ journal: () => Promise.resolve(journal) } as unknown as WorkerSteps);
  expect((await other.journal('s', 't')).map(({ kind }) => kind)).toEqual(['input', 'tool', 'input']);
});
