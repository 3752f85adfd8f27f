/** A doubt that a person resolves: what is typed, what is said before and after, and what goes to the server. */
import { describe, expect, test } from 'vitest';
import { readResult, toConsequence, toRefusalWords } from '../../../web-client/app/work/resolve-step.ts';
import { FollowError } from '../../../web-client/src/follow-error.ts';
import { createRequester } from '../../../web-client/src/requester.ts';
import { createSessionActions } from '../../../web-client/src/session-actions.ts';
import type { SessionActions } from '../../../web-client/src/session-actions.ts';
import { manualWorld } from '../../support/followed-session.ts';
import { ScriptedSession, problem } from '../../support/scripted-session.ts';

describe('a result that is typed', () => {
  test('is JSON, or nothing, which is null', () => {
    expect(readResult(' {"receipt":"r1"} ')).toEqual({ value: { receipt: 'r1' } });
    expect(readResult('  ')).toEqual({ value: null });
  });

  test('that is no JSON says why not', () => {
    expect(readResult('{"a":').problem).toMatch(/^That is not JSON: ./);
    expect(readResult('receipt r1').problem).toMatch(/^That is not JSON: ./);
  });
});

describe('what follows', () => {
  test('tells whether the call is made again, and whether the turn goes on', () => {
    expect(toConsequence('done', 'charge', true)).toBe(
      'The journal keeps charge as done, with this result: it is not called again, and nobody else is told of it. The turn goes on as soon as none of its steps is in doubt.',
    );
    expect(toConsequence('not_done', 'charge', true)).toMatch(
      /^The journal forgets the call, and charge is called again\./,
    );
    expect(toConsequence('not_done', 'charge', false)).toMatch(/whenever the turn goes on\. The turn stays as it is/);
  });
});

describe('a refusal', () => {
  const words = (code: string) => toRefusalWords(new FollowError('refused', 'the server’s words', { problem: code }));

  test.each(['step_settled', 'step_unknown', 'turn_busy', 'session_closed'])('%s is told in words', (code) => {
    expect(words(code)).not.toContain('the server’s words');
    expect(words(code)).toMatch(/\.$/);
  });

  test('says what can be done instead, or what the server says', () => {
    expect(words('turn_over')).toBe('This turn cannot go on: the server’s words. Resolve it without going on.');
    expect(words('forbidden')).toBe('the server’s words');
  });
});

describe('resolving', () => {
  function scripted() {
    const session = new ScriptedSession(3);
    const world = manualWorld();
    const options = { url: 'http://ledgerline.test', fetch: session.fetch, clock: world.clock };
    const actions: SessionActions = createSessionActions('s1', createRequester(options), world.clock);
    return { session, world, actions };
  }

  test('tells the server what became of the step, and tries again what may pass', async () => {
    const { session, world, actions } = scripted();
    const answers = ['fail' as const, problem(503, 'unavailable'), Response.json({})];
    session.meet = () => answers.shift();
    const asking = actions.resolve('t/1', 3, { outcome: 'done', result: { receipt: 'r1' } }, true);
    let isOver = false;
    const ending = asking.finally(() => (isOver = true));
    while (!isOver) await world.clock.advance(100);
    await ending;
    expect(session.asked.map(({ method, path, body }) => [method, path, body])).toEqual(
      Array.from({ length: 3 }, () => [
        'POST',
        '/sessions/s1/turns/t%2F1/steps/3/resolve',
        { outcome: 'done', result: { receipt: 'r1' }, resume: true },
      ]),
    );
  });

  test('as not done sends no result, and is refused with its problem at once', async () => {
    const { session, actions } = scripted();
    session.meet = () => problem(409, 'turn_busy');
    const refused = actions.resolve('t1', 0, { outcome: 'not_done' }, false);
    await expect(refused).rejects.toMatchObject({ problem: 'turn_busy' });
    expect(session.asked.map(({ body }) => body)).toEqual([{ outcome: 'not_done', resume: false }]);
  });
});
