/** What the guards are for: each of these does without one of them, and the money shows it. */
import { expect, it } from 'vitest';
import type { Model } from '../support/provider.ts';
import type { AgentFault } from '../support/refund-agent.ts';
import { refundCrew } from '../support/refund-crew.ts';

/** Asked again, it wants to look first: what it asked for before has another place in its answer. */
const moody: Model = (content, asked) => (asked === 0 ? [content] : ['read', content]);

interface Trial {
  readonly what: string;
  readonly content: string;
  /** Where its worker is killed. */
  readonly point: string;
  readonly model?: Model;
  readonly fault: AgentFault;
  /** How many refunds are owed, and how many are made without the guard. */
  readonly owed: number;
  readonly made: number;
}

const trials: readonly Trial[] = [
  {
    what: 'an effect outside the shared transaction, killed before the commit, happens twice',
    content: 'transactional',
    point: 'written',
    fault: 'effect_outside',
    owed: 1,
    made: 2,
  },
  {
    what: 'an effect behind the shared transaction, killed between them, is lost',
    content: 'transactional',
    point: 'calls settled',
    fault: 'effect_behind',
    owed: 1,
    made: 0,
  },
  {
    what: 'a call without the step’s key, killed before its result, happens twice',
    content: 'keyed',
    point: 'applied',
    fault: 'no_key',
    owed: 1,
    made: 2,
  },
  {
    what: 'of two calls with a key made of their arguments one is lost',
    content: 'keyed keyed',
    point: 'calls settled',
    fault: 'key_of_arguments',
    owed: 2,
    made: 1,
  },
  {
    what: 'a resume that does not read the journal numbers anew, and refunds twice',
    content: 'keyed',
    point: 'calls settled',
    model: moody,
    fault: 'no_journal',
    owed: 1,
    made: 2,
  },
];

it.each(trials.map((trial) => [trial.what, trial] as const))(
  '%s; with its guard it does not',
  async (_, { content, point, model, fault, owed, made }) => {
    for (const [tried, expected] of [
      [undefined, owed],
      [fault, made],
    ] as const) {
      const crew = await refundCrew(model);
      await crew.survives(point, content, tried);
      const refunds = content === 'transactional' ? await crew.refunds() : crew.provider.applied.length;
      expect({ fault: tried, refunds }).toEqual({ fault: tried, refunds: expected });
      expect(await crew.breaches()).toEqual([]); // the turn itself looks as it should
    }
  },
);
