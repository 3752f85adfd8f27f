/** A token that was revoked, or is over, reads nothing more on any gateway; one that replaces it goes on where it was. */
import { decodeJwt } from 'jose';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { postgresRevocations } from '../../src/access/postgres-revocations.ts';
import type { RevocationPlace } from '../../src/access/revocation-row.ts';
import { accessLimits } from '../../src/base/access-limits.ts';
import { limits } from '../../src/base/limits.ts';
import { silentLog } from '../../src/base/log.ts';
import { endAll, makeWorkingFolder, runCli, startCli } from '../support/cli.ts';
import { append, call, closeSession, codeOf, metric } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { withSql } from '../support/ledger.ts';
import { renewingReader } from '../support/renewing-readers.ts';
import { freshDatabase, startPostgres } from '../support/services.ts';
import { appendNumbers, newSession } from '../support/session-calls.ts';
import { readStream } from '../support/sse-reader.ts';
import type { SseReader } from '../support/sse-reader.ts';
import type { TokenOptions } from '../support/token.ts';
import { eventually } from '../support/waits.ts';
import { range } from '../support/world.ts';

let databaseUrl: string;
/** Two gateways that know of each other by the database alone. */
let near: InProcessGateway;
let far: InProcessGateway;
beforeEach(async () => {
  const database = await freshDatabase();
  databaseUrl = database.url;
  onTestFinished(() => database.drop());
  const start = async (): Promise<InProcessGateway> => {
    const gateway = await startInProcessGateway({ config: { databaseUrl } });
    onTestFinished(() => gateway.stop());
    return gateway;
  };
  [near, far] = [await start(), await start()];
});

const revoke = (body: object, at = near) => call(at, 'POST', '/internal/revocations', JSON.stringify(body));
const jtiOf = (token: string): string => String(decodeJwt(token).jti);

async function follow(at: InProcessGateway, session: string, token: string): Promise<SseReader> {
  const reader = await readStream(`${at.publicUrl}/sessions/${session}/stream`, { authorization: `Bearer ${token}` });
  onTestFinished(() => reader.close());
  return reader;
}

async function statusOf(at: InProcessGateway, token: string, path: string, method = 'GET'): Promise<number> {
  const answer = await fetch(at.publicUrl + path, { method, headers: { authorization: `Bearer ${token}` } });
  await answer.body?.cancel();
  return answer.status;
}

/** One that was issued behind the second of the revocation, which is all that a token says of its time. */
const renewed = (options: TokenOptions, path: string): Promise<string> =>
  eventually('a new token holds', async () => {
    const token = await near.token(options);
    const statuses = await Promise.all([near, far].map((at) => statusOf(at, token, path)));
    return statuses.every((status) => status === 200) && token;
  });

describe('a revocation', () => {
  it.each(['jti', 'sub', 'session'] as const)('by %s ends what it is about, and lets the rest be', async (kind) => {
    const session = await newSession(near, 2);
    const other = await newSession(near, 2);
    const maya = await near.token({ subject: 'maya' });
    const noor = await near.token({ subject: 'noor' });
    const meant = [await follow(near, session, maya), await follow(far, session, maya)];
    const spared = [
      kind === 'session' ? await follow(far, other, maya) : await follow(far, session, noor),
      await follow(near, other, noor),
    ];
    await Promise.all([...meant, ...spared].map((reader) => reader.events(2)));

    const answer = await revoke({ jti: { jti: jtiOf(maya) }, sub: { sub: 'maya' }, session: { session } }[kind]);
    expect([answer.status, JSON.parse(answer.text)]).toEqual([
      201,
      { revokedAt: expect.stringMatching(/Z$/), until: expect.stringMatching(/Z$/) },
    ]);
    // the gateway that was told lets nobody in when it has answered
    expect(await statusOf(near, maya, `/sessions/${session}`)).toBe(401);
    for (const reader of meant) expect((await reader.frame('denied')).data).toBe('{"reason":"revoked"}');
    await appendNumbers(near, session, 1);
    await appendNumbers(near, other, 1);
    for (const reader of meant) await reader.ended();
    expect((await meant[0]?.events(2))?.length).toBe(2);
    for (const reader of spared) expect((await reader.events(3)).length).toBe(3);

    const path = `/sessions/${session}`;
    for (const at of [near, far]) {
      expect(await statusOf(at, maya, `${path}/stream`)).toBe(401);
      expect(await statusOf(at, maya, `${path}/events`)).toBe(401);
      expect(await statusOf(at, maya, `${path}/tickets`, 'POST')).toBe(401);
      expect(await statusOf(at, maya, `/sessions/${other}`)).toBe(kind === 'session' ? 200 : 401);
      expect(await statusOf(at, noor, `/sessions/${other}`)).toBe(200);
    }
    const later = await renewed({ subject: 'maya' }, path);
    expect(await statusOf(far, later, path)).toBe(200);
  });

  it('for a session takes it off the lists of whoever could read it', async () => {
    const session = await newSession(near, 1);
    const other = await newSession(near, 1);
    const token = await near.token();
    await revoke({ session });
    const answer = await fetch(`${near.publicUrl}/sessions`, { headers: { authorization: `Bearer ${token}` } });
    const { sessions } = (await answer.json()) as { sessions: { session: string }[] };
    expect(sessions.map((listed) => listed.session)).toEqual([other]);
    const created = await fetch(`${near.publicUrl}/sessions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify({ session }),
    });
    expect(created.status).toBe(401);
    await created.body?.cancel();
  });

  it('reaches the stream of a ticket, and the browser that comes back by its cookie', async () => {
    const session = await newSession(near, 1);
    const token = await near.token();
    const headers = { authorization: `Bearer ${token}` };
    const asked = await fetch(`${near.publicUrl}/sessions/${session}/tickets`, { method: 'POST', headers });
    const { ticket } = (await asked.json()) as { ticket: string };
    const url = `${far.publicUrl}/sessions/${session}/stream?ticket=${ticket}`;
    const reader = await readStream(url, {});
    await reader.events(1);
    const cookie = reader.headers.get('set-cookie')?.split(';')[0] ?? '';
    await revoke({ jti: jtiOf(token) });
    expect((await reader.frame('denied')).data).toBe('{"reason":"revoked"}');
    const answer = await fetch(url, { headers: { cookie } });
    expect(answer.status).toBe(401);
    await answer.body?.cancel();
  });

  it('counts a token that does not say when it was issued as issued before', async () => {
    const session = await newSession(near, 1);
    await revoke({ sub: 'maya' });
    const token = await near.token({ subject: 'maya', isUndated: true });
    expect(await statusOf(near, token, `/sessions/${session}`)).toBe(401);
  });

  it('is remembered for as long as it says and a token still holds then, or longer than any token', async () => {
    const until = new Date(Date.now() + 3_600_000).toISOString();
    const { until: said } = JSON.parse((await revoke({ jti: 'a', until })).text) as { until: string };
    expect(Date.parse(said)).toBe(Date.parse(until) + limits.tokenToleranceMs);
    const { until: absent } = JSON.parse((await revoke({ jti: 'b' })).text) as { until: string };
    expect(Date.parse(absent)).toBeGreaterThan(Date.now() + accessLimits.tokenMs);
    // again: the later end counts, and there is still one row
    await revoke({ jti: 'b', until });
    const rows = await withSql(
      databaseUrl,
      (sql) => sql<{ value: string; days: number }[]>`
        select value, extract(day from expires_at - clock_timestamp())::int as days from ledgerline.revocation order by value`,
    );
    expect(rows).toMatchObject([
      { value: 'a', days: 0 },
      { value: 'b', days: 366 },
    ]);
  });

  it.each([
    ['nothing', {}],
    ['two things', { jti: 'a', sub: 'b' }],
    ['something else', { token: 'a' }],
    ['no id', { jti: '' }],
    ['no session id', { session: 'a b' }],
    ['a time that is over', { jti: 'a', until: '2020-01-01T00:00:00Z' }],
    ['a time without end', { jti: 'a', until: '9999-01-01T00:00:00Z' }],
    ['no time', { jti: 'a', until: 'tomorrow' }],
  ])('of %s is refused', async (_, body) => {
    const answer = await revoke(body);
    expect([answer.status, codeOf(answer)]).toEqual([400, 'malformed']);
  });

  it('is the internal listener’s alone', async () => {
    const headers = { authorization: `Bearer ${near.key}`, 'content-type': 'application/json' };
    const answer = await fetch(`${near.publicUrl}/internal/revocations`, {
      method: 'POST',
      headers,
      body: '{"jti":"a"}',
    });
    expect(answer.status).toBe(404);
    await answer.body?.cancel();
  });
});

describe('the table of revocations', () => {
  it('is read in pages, in the order of its commits, while many write', async () => {
    const store = postgresRevocations({ url: databaseUrl, prepare: true, log: silentLog });
    const others = range(1, 4).map(() => postgresRevocations({ url: databaseUrl, prepare: true, log: silentLog }));
    onTestFinished(async () => void (await Promise.all([store, ...others].map((each) => each.close()))));
    const seen: string[] = [];
    let isWriting = true;
    const writing = Promise.all(
      others.map(async (other, which) => {
        for (const index of range(1, 50)) await other.revoke({ kind: 'jti', value: `${which}-${index}` });
      }),
    ).finally(() => (isWriting = false));
    let place: RevocationPlace | undefined;
    await eventually('all of them are read', async () => {
      const page = await store.read(place);
      expect(page.isContinuous).toBe(true);
      place = page.place;
      seen.push(...page.revocations.map(({ value }) => value));
      return !isWriting && new Set(seen).size === 200;
    });
    await writing;
  });

  it('is not read to its end by each look, and loses what is over', async () => {
    const store = postgresRevocations({ url: databaseUrl, prepare: true, log: silentLog });
    onTestFinished(() => store.close());
    await withSql(databaseUrl, async (sql) => {
      await sql`insert into ledgerline.revocation (number, revoked_at, expires_at, kind, value)
        select n, clock_timestamp(), clock_timestamp() + interval '1 hour', 'jti', n::text from generate_series(1, 2500) n`;
      await sql`update ledgerline.revocation set revoked_at = clock_timestamp() - interval '2 hours',
        expires_at = clock_timestamp() - interval '1 hour' where number <= 100`;
    });
    const first = await store.read(undefined);
    expect([first.revocations.length, first.revocations[0]?.value, first.isLast]).toEqual([1_000, '101', false]);
    const last = await store.read({ number: 2_500, revokedAtMs: await revokedAtMs(2_500) });
    expect([last.revocations.length, last.isLast, last.isContinuous]).toEqual([1, true, true]);
    const lost = await store.read({ number: 2_500, revokedAtMs: 1 });
    expect(lost.isContinuous).toBe(false);
    await store.forget();
    const [row] = await withSql(
      databaseUrl,
      (sql) => sql<{ count: number }[]>`select count(*)::int as count from ledgerline.revocation`,
    );
    expect(row?.count).toBe(2_400);
  });

  const revokedAtMs = async (number: number): Promise<number> => {
    const [row] = await withSql(
      databaseUrl,
      (sql) => sql<{ ms: number }[]>`
        select ceil(extract(epoch from revoked_at) * 1000)::bigint as ms from ledgerline.revocation where number = ${number}::bigint`,
    );
    return row?.ms ?? 0;
  };
});

it('what was revoked stays so while Postgres is away, and the metrics tell that nothing newer is known', async () => {
  const postgres = await startPostgres();
  onTestFinished(() => postgres.stop());
  const { url } = await freshDatabase({ on: postgres });
  const gateway = await startInProcessGateway({ config: { databaseUrl: url } });
  onTestFinished(() => gateway.stop());
  const session = await newSession(gateway, 2);
  const [revoked, good] = [await gateway.token(), await gateway.token()];
  const reader = await follow(gateway, session, good);
  await reader.events(2);
  await revoke({ jti: jtiOf(revoked) }, gateway);
  await postgres.kill();
  const stale = (): Promise<number> => metric(gateway, 'ledgerline_revocations_stale_seconds');
  await eventually('the gauge rises', async () => (await stale()) > 0);
  expect(await statusOf(gateway, revoked, `/sessions/${session}/stream`)).toBe(401);
  expect(reader.isEnded).toBe(false);
  await postgres.restart();
  await eventually('the gauge falls', async () => (await stale()) === 0);
  expect(await metric(gateway, 'ledgerline_revocations')).toBe(1);
  await eventually('appends work again', async () => (await append(gateway, session, '3')).status === 201);
  await reader.events(3);
});

describe('a reader whose token is revoked, and then one whose token is over', () => {
  it.each(['header', 'cookie', 'ticket'] as const)(
    'goes on by a new one and misses nothing: EventSource, %s',
    async (carrier) => {
      const session = await newSession(near, 10);
      const token = await far.token({ subject: 'maya' });
      let lives = [-2, 3_600];
      const reader = renewingReader(carrier, {
        publicUrl: far.publicUrl,
        session,
        token,
        // the first one that replaces it is over soon
        renew: async () => {
          const [ttlSeconds = 3_600, ...others] = lives;
          const next = await renewed({ subject: 'maya', ttlSeconds }, `/sessions/${session}`);
          lives = others;
          return next;
        },
      });
      await eventually('it has begun', () => reader.sequences.length === 10);
      await revoke({ sub: 'maya' });
      await eventually('it is denied', () => reader.denials.length === 1);
      const atDenial = reader.sequences.length;
      await appendNumbers(near, session, 10);
      await eventually('its second token is over', () => reader.denials.length === 2);
      await appendNumbers(near, session, 10);
      await closeSession(near, session);
      await eventually('it is done', () => reader.isDone, 60_000);
      expect([reader.denials, atDenial]).toEqual([['revoked', 'expired'], 10]);
      expect(reader.sequences).toEqual(range(1, 30));
    },
  );

  it('is told so by the command line, which goes on by another: revoke, tail', async () => {
    const folder = makeWorkingFolder();
    onTestFinished(async () => {
      await endAll();
      folder.remove();
    });
    const session = await newSession(near, 5);
    const token = await far.token({ subject: 'maya' });
    const environment = { LEDGERLINE_URL: far.publicUrl, LEDGERLINE_TOKEN: token };
    const tail = startCli(['tail', session, '--data'], { folder: folder.path, environment });
    await eventually('it has begun', () => tail.stdout().split('\n').length === 6);
    const operator = { LEDGERLINE_INTERNAL_URL: near.internalUrl, LEDGERLINE_KEY: near.key };
    const run = (...line: string[]) => runCli(line, { folder: folder.path, environment: operator });
    expect(await run('revoke', '--token', jtiOf(token))).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringMatching(/^revoked, and remembered until \d{4}-/),
    });
    expect(await tail.exit).toBe(1);
    expect(tail.stderr()).toBe('ledgerline: the token is revoked; the last event was 5\n');
    await appendNumbers(near, session, 5);
    await closeSession(near, session);
    const again = await runCli(['tail', session, '--after', '5', '--until-end'], {
      folder: folder.path,
      environment: { ...environment, LEDGERLINE_TOKEN: await far.token({ subject: 'maya' }) },
    });
    expect([again.code, again.stdout.trim().split('\n').length]).toEqual([0, 5]);
    for (const line of [['revoke'], ['revoke', '--token', 'a', '--subject', 'b'], ['revoke', '--session', 'a b']]) {
      expect((await run(...line)).code).toBe(2);
    }
  });
});
