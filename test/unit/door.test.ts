/** No token reads a session that it does not reach, and none learns whether such a session is there. */
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import type { Credential } from '../../src/http/auth.ts';
import type { AppContext } from '../../src/http/context.ts';
import { createDoor, createReach, sessionUnknown } from '../../src/http/door.ts';
import { problem } from '../../src/http/problem.ts';

/** So few letters that ids are often each other's beginnings, differ by case, or are equal. */
const id = fc.string({ unit: fc.constantFrom('a', 'A', 'b', '-', '_'), minLength: 1, maxLength: 4 });
const owner = fc.constantFrom('maya', 'noor', 'Maya');
const pattern = fc.oneof(
  { weight: 3, arbitrary: id },
  { weight: 2, arbitrary: id.map((prefix) => `${prefix}*`) },
  { weight: 1, arbitrary: fc.constant('*') },
);
const token = fc.record({
  sessions: fc.array(pattern, { maxLength: 3 }),
  owner: fc.option(owner, { nil: undefined }),
  scope: fc.subarray(['read', 'write']),
});
const stored = fc.dictionary(id, fc.record({ owner: fc.option(owner, { nil: undefined }) }), { maxKeys: 6 });

/** What the documents say, written down once more and in other words. */
function isWithinReach(
  asked: string,
  { sessions, owner: mine }: { sessions: string[]; owner?: string | undefined },
  of?: string,
): boolean {
  for (const each of sessions) {
    const star = each.indexOf('*');
    if (star < 0 ? each === asked : each.slice(0, star) === asked.slice(0, star)) return true;
  }
  return mine !== undefined && mine === of;
}

it('in any of 10,000 pairs of token and session', async () => {
  let reached = 0;
  const property = fc.asyncProperty(token, stored, id, fc.nat(6), async (given, world, other, which) => {
    const asked = [...Object.keys(world), other][which] ?? other;
    const credential: Credential = {
      subject: 'u',
      isInternal: false,
      identity: { jti: 'j', sub: 'u', issuedAtMs: 0 },
      sessions: given.sessions,
      scope: new Set(given.scope),
      owner: given.owner,
      expiresAtMs: undefined,
    };
    const reach = createReach(
      (session) => Promise.resolve(world[session]?.owner),
      () => true,
    );
    const route = createDoor(() => Promise.resolve(credential), reach)('read', (_, { session }) =>
      world[session] === undefined ? Promise.reject(sessionUnknown()) : Promise.resolve(new Response(session)),
    );
    const c = { req: { param: () => asked }, get: () => ({}) } as unknown as AppContext;
    const answer = await (async () => (await route(c)).text())().catch((thrown: unknown) => thrown);
    if (!isWithinReach(asked, given, world[asked]?.owner)) {
      // the same in every byte as for what is not there
      expect(answer instanceof LedgerlineError && problem(answer)).toEqual(problem(sessionUnknown()));
    } else if (!given.scope.includes('read')) {
      expect(answer).toMatchObject({ code: 'forbidden' });
    } else if (world[asked] === undefined) {
      expect(answer).toMatchObject({ code: 'session_unknown' });
    } else {
      expect(answer).toBe(asked);
      reached += 1;
    }
  });
  await fc.assert(property, { numRuns: 10_000 });
  expect(reached).toBeGreaterThan(500);
}, 180_000);
