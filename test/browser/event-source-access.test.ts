/** A browser's own EventSource, which can send no header, reads by cookie or by ticket, and through every change of them. */
import { decodeJwt } from 'jose';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { accessLimits } from '../../src/base/access-limits.ts';
import { systemClock } from '../../src/base/clock.ts';
import type { Credential } from '../../src/http/auth.ts';
import { createTickets } from '../../src/http/ticket.ts';
import { expectAll, gaveUp, hears, setStage } from '../support/browser-stage.ts';
import type { Stage } from '../support/browser-stage.ts';
import { startSite } from '../support/follower-page.ts';
import { call } from '../support/gateway-calls.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { appendNumbers, newSession } from '../support/session-calls.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let stage: Stage;
beforeAll(async () => {
  stage = await setStage();
});
afterAll(() => stage?.stop());

const streamOf = ({ publicUrl }: Pick<RunningGateway, 'publicUrl'>, session: string, query = ''): string =>
  `${publicUrl}/sessions/${session}/stream${query}`;

const revoke = async (body: object): Promise<void> => {
  const { status } = await call(stage.gateway, 'POST', '/internal/revocations', JSON.stringify(body));
  expect(status).toBe(201);
};
const jtiOf = (token: string): string => String(decodeJwt(token).jti);

/** One that is almost over. */
async function agedTicket({ secret }: RunningGateway, session: string): Promise<string> {
  const clock = { ...systemClock, wall: () => systemClock.wall() - accessLimits.ticketMs + 10_000 };
  const credential: Credential = {
    subject: 'maya',
    isInternal: false,
    identity: { jti: 'j', sub: 'maya', issuedAtMs: systemClock.wall() },
    sessions: ['*'],
    scope: new Set(['read']),
    owner: undefined,
    expiresAtMs: systemClock.wall() + 3_600_000,
  };
  return (await createTickets([new TextEncoder().encode(secret)], clock).mint(credential, session)).ticket;
}

async function ticketOf(token: string, session: string): Promise<string> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await fetch(`${stage.gateway.publicUrl}/sessions/${session}/tickets`, { method: 'POST', headers });
  return ((await answer.json()) as { ticket: string }).ticket;
}

describe('by a cookie that the page’s back end has set', () => {
  test('it reads, and goes on by each one that replaces a cookie that is over or revoked', async () => {
    const session = await newSession(stage.gateway, 10);
    const tab = await stage.newTab();
    const set = async (token: string): Promise<void> => tab.setCookie('ledgerline_token', token);
    const denials = async (): Promise<string[]> =>
      (await tab.named()).filter(({ name }) => name === 'denied').map(({ data }) => data);
    // over in seconds: a token holds 5 s longer than it says
    await set(await stage.gateway.mint({ ttlSeconds: 0 }));
    await tab.follow(streamOf(stage.gateway, session));
    await expectAll(tab, 10);
    const second = await stage.gateway.mint({});
    await set(second);
    await eventually('the first is over', async () => (await denials()).length === 1, 60_000);
    await appendNumbers(stage.gateway, session, 10);
    await expectAll(tab, 20);

    await set(await stage.gateway.mint({}));
    await revoke({ jti: jtiOf(second) });
    await eventually('the second is revoked', async () => (await denials()).length === 2, 60_000);
    await appendNumbers(stage.gateway, session, 10);
    await expectAll(tab, 30);
    expect(await denials()).toEqual(['{"reason":"expired"}', '{"reason":"revoked"}']);
  });

  test('that was revoked and not replaced it reads nothing more, and stops', async () => {
    const session = await newSession(stage.gateway, 10);
    const tab = await stage.newTab();
    const token = await stage.gateway.mint({});
    await tab.setCookie('ledgerline_token', token);
    await tab.follow(streamOf(stage.gateway, session));
    await expectAll(tab, 10);
    await revoke({ jti: jtiOf(token) });
    await hears(tab, 'denied');
    await appendNumbers(stage.gateway, session, 10);
    await gaveUp(tab);
    expect(await tab.sequences()).toEqual(range(1, 10));
  });

  test('a page of another origin reads nothing, though the browser sends it', async () => {
    const stranger = await startSite();
    onTestFinished(() => stranger.stop());
    const session = await newSession(stage.gateway, 5);
    const tab = await stage.newTab(stranger.origin);
    await tab.setCookie('ledgerline_token', await stage.gateway.mint({}));
    await tab.follow(streamOf(stage.gateway, session));
    await gaveUp(tab);
    expect([await tab.opened(), await tab.seen()]).toEqual([0, []]);
    const { text } = await call(stage.gateway, 'GET', `/sessions/${session}`);
    expect(JSON.parse(text)).toMatchObject({ room: null });
  });
});

describe('by a ticket in its address', () => {
  test('it reads, and comes back by itself when the ticket is over', async () => {
    const session = await newSession(stage.gateway, 10);
    const proxy = await startTcpProxy({ port: Number(new URL(stage.gateway.publicUrl).port) });
    onTestFinished(() => proxy.stop());
    const ticket = await agedTicket(stage.gateway, session);
    const url = streamOf({ publicUrl: `http://127.0.0.1:${proxy.port}` }, session, `?ticket=${ticket}`);
    const tab = await stage.newTab();
    await tab.follow(url);
    await expectAll(tab, 10);
    expect(await tab.cookies()).toMatchObject([
      { name: 'ledgerline_pass', path: `/sessions/${session}/stream`, httpOnly: true },
    ]);
    await eventually('the ticket opens nothing any more', async () => (await fetch(url)).status === 401);
    await proxy.cut();
    await appendNumbers(stage.gateway, session, 10);
    await proxy.restore();
    await expectAll(tab, 20);
    expect(await tab.opened()).toBe(2);
  });

  test('a page of another site does, too, where the gateway is set to let it', async () => {
    const site = await startSite();
    onTestFinished(() => site.stop());
    // another site than 127.0.0.1
    const origin = site.origin.replace('127.0.0.1', 'localhost');
    const gateway = await stage.ownGateway(stage.databaseUrl, {
      environment: {
        LEDGERLINE_ALLOWED_ORIGINS: origin,
        LEDGERLINE_COOKIE_SECURE: 'true',
        LEDGERLINE_COOKIE_CROSS_SITE: 'true',
      },
    });
    const session = await newSession(gateway, 10);
    const proxy = await startTcpProxy({ port: Number(new URL(gateway.publicUrl).port) });
    onTestFinished(() => proxy.stop());
    const url = streamOf(
      { publicUrl: `http://127.0.0.1:${proxy.port}` },
      session,
      `?ticket=${await agedTicket(gateway, session)}`,
    );
    const tab = await stage.newTab(origin);
    await tab.follow(url);
    await expectAll(tab, 10);
    await eventually('the ticket opens nothing any more', async () => (await fetch(url)).status === 401);
    await proxy.cut();
    await appendNumbers(gateway, session, 10);
    await proxy.restore();
    await expectAll(tab, 20);
  });

  test('it stops when its token is revoked, and goes on where it was by another ticket', async () => {
    const session = await newSession(stage.gateway, 10);
    const [first, second] = [await stage.gateway.mint({}), await stage.gateway.mint({})];
    const tab = await stage.newTab();
    await tab.follow(streamOf(stage.gateway, session, `?ticket=${await ticketOf(first, session)}`));
    await expectAll(tab, 10);
    await revoke({ jti: jtiOf(first) });
    await hears(tab, 'denied');
    await appendNumbers(stage.gateway, session, 10);
    await gaveUp(tab);
    expect(await tab.sequences()).toEqual(range(1, 10));
    await tab.follow(streamOf(stage.gateway, session, `?ticket=${await ticketOf(second, session)}&after=10`));
    await expectAll(tab, 20);
  });

  test('it stops when its token is over, and its cookie with it', async () => {
    const session = await newSession(stage.gateway, 10);
    const token = await stage.gateway.mint({ ttlSeconds: 0 });
    const tab = await stage.newTab();
    await tab.follow(streamOf(stage.gateway, session, `?ticket=${await ticketOf(token, session)}`));
    await expectAll(tab, 10);
    await hears(tab, 'denied');
    await appendNumbers(stage.gateway, session, 10);
    await gaveUp(tab);
    expect(await tab.sequences()).toEqual(range(1, 10));
  });
});
