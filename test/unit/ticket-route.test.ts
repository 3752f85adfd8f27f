/** A ticket and its pass over HTTP, where time passes only when the test says so. */
import { expect, it } from 'vitest';
import { accessLimits } from '../../src/base/access-limits.ts';
import { systemClock } from '../../src/base/clock.ts';
import { startStubGateway } from '../support/stub-gateway.ts';

const greeting = ({ writer }: { writer: { write(text: string): void; end(): void } }): void => {
  writer.write('retry: 1000\n\n');
  writer.end();
};

it('a browser comes back by its cookie when the ticket in its address has ended, until the token ends', async () => {
  let passedMs = 0;
  const clock = { ...systemClock, wall: () => systemClock.wall() + passedMs };
  const gateway = await startStubGateway({
    clock,
    join: greeting,
    access: { cookies: { isSecure: false, isCrossSite: false } },
  });
  const ask = async (headers: Readonly<Record<string, string>> = {}): Promise<[number, string | null]> => {
    const answer = await fetch(url, { headers });
    await answer.text();
    return [answer.status, answer.headers.get('set-cookie')];
  };
  const authorization = `Bearer ${await gateway.token({ ttlSeconds: 3_600 })}`;
  const asked = await fetch(`${gateway.publicUrl}/sessions/s/tickets`, { method: 'POST', headers: { authorization } });
  const { ticket } = (await asked.json()) as { ticket: string };
  const url = `${gateway.publicUrl}/sessions/s/stream?ticket=${ticket}`;

  const [status, set] = await ask();
  expect([status, set]).toEqual([200, expect.stringContaining('HttpOnly; SameSite=Strict')]);
  expect(set).not.toContain('Secure');
  const cookie = set?.split(';')[0] ?? '';

  passedMs = accessLimits.ticketMs;
  expect(await ask()).toEqual([401, null]);
  expect(await ask({ cookie })).toEqual([200, null]);
  passedMs = 3_600_000 + 6_000;
  expect(await ask({ cookie })).toEqual([401, null]);
  await gateway.stop();
});
