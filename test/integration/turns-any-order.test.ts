/** Whatever people, workers and crashes do, in any order: the events alone tell what the agent does, and every turn ends once. */
import { describe, expect, test } from 'vitest';
import type { TurnState } from '../../src/event/turn-state.ts';
import type { Attempt, OnBusy } from '../../src/turn/turns.ts';
import { LedgerlineError } from '../../src/base/errors.ts';
import { anEvent, countTo } from '../support/ledger.ts';
import { seededRandom } from '../support/manual-clock.ts';
import { turnStage } from '../support/turn-stage.ts';
import type { TurnStage } from '../support/turn-stage.ts';
import { range } from '../support/world.ts';

type Stored = Awaited<ReturnType<TurnStage['events']>>[number];

/** What a reader who knows nothing but `docs/PROTOCOL.md` makes of a session's events. */
function stateOf(events: readonly Stored[]): TurnState {
  let state: TurnState = 'idle';
  const pending = new Set<number>();
  const open = new Set<string>();
  const take = (inputs: readonly number[]): void => inputs.forEach((input) => pending.delete(input));
  for (const { type, sequence, data } of events as readonly (Stored & { data: Record<string, unknown> })[]) {
    const inputs = (data['inputs'] ?? []) as readonly number[];
    switch (type) {
      case 'message.created':
        pending.add(sequence);
        if (state === 'idle') state = 'ready';
        break;
      case 'turn.started':
      case 'turn.steered':
        take(inputs);
        state = 'running';
        break;
      case 'turn.waiting':
        open.clear();
        for (const approval of data['approvals'] as readonly string[]) open.add(approval);
        state = 'waiting';
        break;
      case 'approval.decided':
        open.delete(String(data['approval']));
        if (open.size === 0) state = 'ready';
        break;
      case 'turn.requested':
      case 'turn.retrying':
        state = 'ready';
        if (type === 'turn.requested') inputs.forEach((input) => pending.add(input));
        break;
      case 'turn.completed':
      case 'turn.failed':
      case 'turn.cancelled':
      case 'turn.in_doubt':
        take(inputs);
        state = pending.size > 0 ? 'ready' : 'idle';
        break;
    }
  }
  return state;
}

const seeds = range(1, Math.ceil(Number(process.env['LEDGERLINE_TEST_SEEDS'] ?? 30) / 5));

const ends = /^turn\.(?:completed|failed|cancelled|in_doubt)$/;

const intent = { tool: 'refund', effect: 'once', args: {} } as const;

describe.each(seeds)('by the seed %i', (seed) => {
  test(
    'every step leaves a session whose events tell its state, and whose turns end once [I13]',
    { timeout: 120_000 },
    async () => {
      const stage = await turnStage();
      const random = seededRandom(seed);
      const pick = <T>(values: readonly T[]): T => values[Math.floor(random() * values.length)] as T;
      const some = async <T>(values: readonly T[], act: (value: T) => Promise<unknown>): Promise<unknown> =>
        values.length === 0 ? undefined : act(pick(values));
      const sessions = await Promise.all(countTo(3).map(() => stage.session()));
      /** Every attempt that there ever was: any of them may still write. */
      const attempts: Attempt[] = [];
      const asked: { session: string; approval: string }[] = [];
      const turns: { session: string; turn: string }[] = [];
      const { steps } = stage.turns;
      const nextIndex = (): number => Math.floor(random() * 4);

      /** A refusal is an answer; anything else is a fault. */
      const tried = async (doing: Promise<unknown>): Promise<void> => {
        await doing.catch((error: unknown) => {
          if (!(error instanceof LedgerlineError) || error.code === 'internal') throw error;
        });
      };
      const ways: readonly (() => Promise<unknown>)[] = [
        () => stage.say(pick(sessions), 'text', { onBusy: pick<OnBusy>(['enqueue', 'reject', 'interrupt', 'steer']) }),
        async () => {
          await Promise.all(sessions.map((session) => stage.hurry(session)));
          for (const claimed of await stage.claim({ limit: 2, maxAttempts: 2 })) {
            attempts.push(claimed);
            turns.push({ session: claimed.session, turn: claimed.turn });
          }
        },
        () =>
          some(attempts, (attempt) => stage.turns.finish(attempt, pick(['completed', 'cancelled']), [anEvent('{}')])),
        () => some(attempts.slice(-2), (attempt) => stage.turns.finish(attempt, 'completed', [])),
        () => some(attempts, (attempt) => stage.turns.fail(attempt, { code: 'x', message: 'x' }, random() < 0.7)),
        () =>
          some(attempts.slice(-2), async (attempt) => {
            const questions = countTo(1 + Math.floor(random() * 2)).map((number) => ({
              approval: `${attempt.turn}-${number}-${Math.floor(random() * 3)}`,
              data: {},
            }));
            await stage.turns.wait(attempt, questions);
            asked.push(...questions.map(({ approval }) => ({ session: attempt.session, approval })));
          }),
        () => some(attempts, (attempt) => stage.turns.release(attempt)),
        () => some(attempts, (attempt) => stage.turns.steer(attempt)),
        () =>
          some(asked.slice(-4), ({ session, approval }) => {
            const decision = pick(['approved', 'denied'] as const);
            return stage.turns.decide(session, { approval, decision, by: 'maya', comment: undefined });
          }),
        () => stage.turns.stop(pick(sessions), 'maya'),
        async () => {
          await stage.expire(pick(sessions));
          await stage.turns.recover();
        },
        () =>
          some(turns, ({ session, turn }) =>
            stage.turns[pick(['retry', 'rerun'] as const)](session, turn, 'ops', random() < 0.5),
          ),
        () => some(attempts.slice(-2), (attempt) => steps.start(attempt, nextIndex(), intent)),
        () =>
          some(attempts, async (attempt) => {
            const journal = await steps.journal(attempt.session, attempt.turn);
            await some(journal, ({ index }) => steps.settle(attempt, index, intent, { result: index }));
          }),
        () =>
          some(attempts.slice(-2), (attempt) =>
            steps.transactional(attempt, nextIndex(), intent, () =>
              Promise.resolve({ result: 1, deliveries: [{ topic: 'x', payload: 1 }] }),
            ),
          ),
        async () =>
          some(await steps.doubts(3), ({ session, turn, index }) => {
            const verdict = pick([{ outcome: 'done', result: 1 }, { outcome: 'not_done' }] as const);
            return steps.resolve(session, turn, index, verdict, 'ops', random() < 0.7);
          }),
        () =>
          some(attempts, ({ session, turn, attempt }) =>
            stage.sessions.append({ session, events: [anEvent('{}')], fence: { turn, attempt } }),
          ),
      ];

      for (const _ of countTo(150)) {
        const together = countTo(random() < 0.3 ? 3 : 1);
        await Promise.all(together.map(() => tried(pick(ways)())));
        for (const session of sessions) {
          const now = await stage.now(session);
          expect([seed, session, stateOf(await stage.events(session))]).toEqual([seed, session, now?.state]);
        }
      }

      for (const session of sessions) {
        const events = (await stage.events(session)) as readonly (Stored & { data: Record<string, unknown> })[];
        let owner: { turn: string; attempt: number } | undefined;
        for (const { type, turn, attempt, data } of events) {
          if (type === 'turn.started') {
            expect(owner).toBeUndefined(); // one session never has two attempts
            owner = { turn: String(turn), attempt: Number(attempt) };
          } else if (turn !== undefined && type === 'text.delta') {
            expect({ turn, attempt }).toEqual(owner); // no stale write
          } else if (ends.test(type) || type === 'turn.waiting' || type === 'turn.retrying') {
            if (data['turn'] === owner?.turn) owner = undefined;
          }
        }
        // The inputs of a turn are the same at every attempt, but for the messages that joined it.
        const inputs = new Map<string, string>();
        for (const { type, data } of events) {
          const id = String(data['turn']);
          if (type === 'turn.steered') inputs.delete(id);
          if (type !== 'turn.started') continue;
          expect([seed, id, inputs.get(id) ?? String(data['inputs'])]).toEqual([seed, id, String(data['inputs'])]);
          inputs.set(id, String(data['inputs']));
        }
        // What an effect delivers has its number, and no number is lost by an attempt that was refused.
        const numbers = await stage.sql(
          (sql) => sql<{ head: number; rows: number; last: number }[]>`
            select h.outbox_sequence as head, count(o.*) as rows, coalesce(max(o.outbox_sequence), 0) as last
              from ledgerline.session_head h left join ledgerline.outbox o on o.session = h.session
             where h.session = ${session}::text group by h.session`,
        );
        expect(numbers.map(({ head, rows, last }) => [head - rows, head - last])).toEqual([[0, 0]]);
        // What is said to have begun and is not under way has ended, exactly once since it was last begun.
        const now = await stage.now(session);
        for (const id of new Set(turns.filter((each) => each.session === session).map(({ turn }) => turn))) {
          const own = events.filter(({ data }) => data['turn'] === id);
          const begun = own.findLastIndex(({ type, data }) => type === 'turn.retrying' && data['reason'] === 'asked');
          const ended = own.slice(begun + 1).filter(({ type }) => ends.test(type));
          expect([seed, id, ended.length]).toEqual([seed, id, now?.turn === id ? 0 : 1]);
        }
      }
    },
  );
});
