/** An agent's definition is checked where it is written, and of its failures only what was meant to be read is told. */
import { describe, expect, test } from 'vitest';
import { LedgerlineError, toError } from '../../src/base/errors.ts';
import { limits } from '../../src/base/limits.ts';
import { failureOf } from '../../src/worker/agent-error.ts';
import { AgentError, defineAgent, isAgent } from '../../src/worker/define-agent.ts';
import type { AgentDefinition } from '../../src/worker/define-agent.ts';

const run = () => Promise.resolve();

describe('a definition', () => {
  test('needs a name and a run, and has bounds of its own', () => {
    const agent = defineAgent({ name: 'echo', run });
    expect(agent).toMatchObject({
      name: 'echo',
      concurrency: 10,
      policy: 'retry',
      maxAttempts: 3,
      turnMs: limits.turnDeadlineMs,
      run,
    });
    expect([isAgent(agent), isAgent({ name: 'echo', run }), isAgent(undefined)]).toEqual([true, false, false]);
  });

  test.each<[object, string]>([
    [{ run }, 'name'],
    [{ name: 'two words', run }, 'name: is 1 to 64 visible characters without spaces'],
    [{ name: 'echo' }, 'run: is a function that answers a turn'],
    [{ name: 'echo', run, concurrency: 0 }, 'concurrency'],
    [{ name: 'echo', run, concurrency: 1.5 }, 'concurrency'],
    [{ name: 'echo', run, maxAttempts: 21 }, 'maxAttempts: is a whole number from 1 to 20'],
    [{ name: 'echo', run, policy: 'never' }, 'policy: is one of retry, once'],
    [{ name: 'echo', run, turnMs: Number.NaN }, 'turnMs'],
    [{ name: 'echo', run, model: 'x' }, 'model'],
  ])('%j is refused, and what is wrong is named', (definition, message) => {
    const define = () => defineAgent(definition as AgentDefinition);
    expect(define).toThrow(LedgerlineError);
    expect(define).toThrow(message);
  });
});

describe('a failure', () => {
  test('that an agent words itself is told as it is', () => {
    expect(failureOf(new AgentError('card_declined', 'The card was declined.'))).toEqual({
      error: { code: 'card_declined', message: 'The card was declined.' },
      isRetryable: true,
    });
    expect(failureOf(new AgentError('no', 'Never.', { isRetryable: false })).isRetryable).toBe(false);
  });

  test('of any other kind tells nothing of itself, and may say that it is final', () => {
    const thrown = Object.assign(new Error('connect postgres://user:secret@host'), { isRetryable: false });
    expect(failureOf(thrown)).toEqual({
      error: { code: 'agent_failed', message: expect.not.stringContaining('secret') },
      isRetryable: false,
    });
    for (const odd of [undefined, null, 'text', 7]) expect(failureOf(odd).error.code).toBe('agent_failed');
  });

  test('is one, too, if it cannot be looked at or has no text', () => {
    const { proxy: revoked, revoke } = Proxy.revocable({}, {});
    revoke();
    const untold = {
      toString() {
        throw new Error('no');
      },
    };
    for (const odd of [Object.create(null), untold, revoked, Symbol('odd')]) {
      expect(failureOf(odd)).toMatchObject({ error: { code: 'agent_failed' }, isRetryable: true });
      expect(toError(odd)).toBeInstanceOf(Error);
    }
  });

  test('is cleaned of what Postgres refuses, so that failing cannot fail [hatchet#4611]', () => {
    const { error } = failureOf(new AgentError('a b\u0000/é', 'a\u0000b \ud83d c \ud83d\ude00\u001b[31m\n'));
    expect(error).toEqual({ code: 'a_b___', message: 'a b \ufffd c \ud83d\ude00 [31m\n' });
    expect(failureOf(new AgentError('', 'x')).error.code).toBe('agent_failed');
  });

  test.each(['x', 'é', '€', '\ud83d\ude00', '"', '\n'])(
    'however long, fits with all its escapes, made of %j',
    (character) => {
      for (let more = 0; more < 4; more += 1) {
        const { error } = failureOf(
          new AgentError('c'.repeat(999), 'x'.repeat(more) + character.repeat(limits.turnErrorBytes)),
        );
        expect(Buffer.byteLength(JSON.stringify(error))).toBeLessThanOrEqual(limits.turnErrorBytes);
        expect(error.message).not.toContain('\ufffd');
        expect(error.message.endsWith('…')).toBe(true);
      }
    },
  );
});
