/** A session's rate refuses a request at once, and holds a stream back for a moment first. */
import { expect, it } from 'vitest';
import { createLimiter } from '../../src/access/limiter.ts';
import { lineLimits } from '../../src/base/line-limits.ts';
import { createMetrics } from '../../src/base/metrics.ts';
import { toSequence } from '../../src/event/sequence.ts';
import type { AppendRequest } from '../../src/ledger/ledger.ts';
import { limitedAppends, pacedAppends } from '../../src/http/limited-appends.ts';
import type { Sessions } from '../../src/session/sessions.ts';
import { generousRates } from '../support/access.ts';
import { anEvent } from '../support/ledger.ts';
import { manualClock } from '../support/manual-clock.ts';

function scene() {
  const clock = manualClock();
  const limiter = createLimiter({ rates: { ...generousRates, sessionEvents: 10 }, clock, metrics: createMetrics() });
  const stored: string[] = [];
  const append = ({ events }: AppendRequest) => {
    stored.push(...events.map(({ data }) => data));
    return Promise.resolve({ kind: 'appended', first: toSequence(1), last: toSequence(1), at: '' } as const);
  };
  const sessions = { append } as unknown as Sessions;
  return { clock, stored, limited: limitedAppends(sessions, limiter), paced: pacedAppends(sessions, limiter, clock) };
}

const request = (...payloads: string[]): AppendRequest => ({
  session: 's',
  events: payloads.map((data) => anEvent(data)),
});
/** A burst of two seconds, and so many beyond it: a tenth of a second each. */
const beyond = (count: number): AppendRequest => request(...Array<string>(20 + count).fill('0'));
const rateLimited = { code: 'rate_limited', fields: { limit: 'sessionEvents', retryAfter: expect.any(Number) } };

it('a request is refused at once', async () => {
  const { limited } = scene();
  await limited.append(beyond(3));
  await expect(limited.append(request('1'))).rejects.toMatchObject(rateLimited);
});

it('a batch of a stream waits as long as it takes, and is stored', async () => {
  const { clock, stored, paced } = scene();
  await paced.append(beyond(3));
  const next = paced.append(request('1'));
  await clock.advance(299);
  expect(stored).not.toContain('1');
  await clock.advance(2);
  await next;
  expect(stored.at(-1)).toBe('1');
});

it('of several streams of a session each gets its turn, or is refused when its time is over', async () => {
  const { clock, paced } = scene();
  await paced.append(beyond(2));
  const all = Promise.allSettled(
    [1, 2, 3].map((number) => paced.append(request(...Array<string>(5).fill(`${number}`)))),
  );
  await clock.advance(lineLimits.rateWaitMs);
  expect((await all).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected']);
});

it('a stream is refused at once where a moment would not do', async () => {
  const { paced } = scene();
  await paced.append(beyond(11));
  await expect(paced.append(request('1'))).rejects.toMatchObject(rateLimited);
});
