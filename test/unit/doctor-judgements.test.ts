/** What the doctor makes of what it saw: every judgement, without a network. */
import { describe, expect, test } from 'vitest';
import { doctorLimits } from '../../src/base/doctor-limits.ts';
import type { Answer, Outcome } from '../../src/cli/doctor/call.ts';
import { idWithin, readClaims } from '../../src/cli/doctor/claims.ts';
import { judgeClock, readDate, readTicket } from '../../src/cli/doctor/judge-clock.ts';
import { judgeDelivery } from '../../src/cli/doctor/judge-delivery.ts';
import type { DeliverySeen } from '../../src/cli/doctor/judge-delivery.ts';
import { judgeExposure, judgeInternal } from '../../src/cli/doctor/judge-internal.ts';
import { judgeLines } from '../../src/cli/doctor/judge-lines.ts';
import { judgeOrigin } from '../../src/cli/doctor/judge-origin.ts';
import { judgeResume } from '../../src/cli/doctor/judge-resume.ts';
import { judgeReadiness, judgeServer } from '../../src/cli/doctor/judge-server.ts';
import { judgeEncoding, judgeStreamHead } from '../../src/cli/doctor/judge-stream.ts';
import { judgeTicket } from '../../src/cli/doctor/judge-ticket.ts';
import type { TicketSeen } from '../../src/cli/doctor/judge-ticket.ts';
import { judgeToken } from '../../src/cli/doctor/judge-token.ts';
import type { TokenSeen } from '../../src/cli/doctor/judge-token.ts';
import { judgeTransport } from '../../src/cli/doctor/judge-transport.ts';
import { judgeWatch } from '../../src/cli/doctor/judge-watch.ts';
import type { WatchSeen } from '../../src/cli/doctor/judge-watch.ts';

const NOW = Date.UTC(2026, 10, 30);
const url = 'https://events.test';
const silence: Outcome = { kind: 'none', why: 'ECONNREFUSED' };

const answer = (status: number, more: Partial<Answer> = {}): Answer => ({
  kind: 'answer',
  status,
  headers: {},
  text: '',
  tookMs: 10,
  wallMs: NOW,
  ...more,
});
const ours = (status: number, text = ''): Answer => answer(status, { headers: { 'ledgerline-protocol': '1' }, text });
const problem = (status: number, code: string, detail = 'for a reason'): Answer =>
  ours(status, JSON.stringify({ type: `urn:ledgerline:problem:${code}`, detail }));

const only = (findings: readonly { name: string }[]): string[] => findings.map(({ name }) => name);

describe('the address', () => {
  test.each([
    [silence, 'unreachable'],
    [problem(401, 'unauthorized'), 'reachable'],
    [answer(401, { text: '{"type":"urn:ledgerline:problem:unauthorized"}' }), 'protocol_hidden'],
    [answer(401, { headers: { 'ledgerline-protocol': '2' } }), 'protocol_differs'],
    [answer(301, { headers: { location: 'https://www.events.test/sessions?secret' } }), 'redirected'],
    [answer(502), 'no_gateway'],
    [answer(404), 'not_ledgerline'],
    // a gateway's own 503 is no proxy's
    [problem(503, 'draining'), 'reachable'],
  ])('that answers %j is %s', (door, name) => expect(judgeServer({ url, door }).name).toBe(name));

  test.each([
    ['ECONNREFUSED', '`ledgerline serve` runs'],
    ['HPE_INVALID_CONSTANT', 'LEDGERLINE_HTTP2=true'],
    ['DEPTH_ZERO_SELF_SIGNED_CERT', 'refuse its certificate'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', 'refuse its certificate'],
  ])('that fails with %s is to be looked at for %s', (why, words) => {
    expect(judgeServer({ url, door: { kind: 'none', why } }).todo).toContain(words);
  });

  test('that redirects is told by its origin alone, for the rest may hold secrets', () => {
    const door = answer(301, { headers: { location: 'https://www.events.test/?ticket=t' } });
    expect(judgeServer({ url, door }).seen).toBe('https://events.test answers 301, to https://www.events.test');
  });

  test.each([
    [ours(200), 'ready'],
    [problem(503, 'draining'), 'draining'],
    [problem(503, 'unavailable'), 'database_away'],
    [answer(404), 'readiness_unseen'],
  ])('whose /readyz answers %j is %s', (readiness, name) => {
    expect(judgeReadiness({ url, health: ours(200), readiness }).name).toBe(name);
  });

  test.each([
    [{ isTls: true, isLoopback: false, alpn: 'h2' }, ['http2']],
    [{ isTls: true, isLoopback: false, alpn: 'http/1.1' }, ['http1']],
    [{ isTls: false, isLoopback: true, alpn: undefined }, ['http1']],
    [{ isTls: false, isLoopback: false, alpn: undefined }, ['plain_http', 'http1']],
  ])('with the transport %j has %j', (seen, names) => expect(only(judgeTransport(seen))).toEqual(names));
});

describe('the internal listener', () => {
  test.each([
    [problem(404, 'not_found'), problem(404, 'not_found'), 'internal_hidden'],
    [answer(200, { text: '# metrics\nledgerline_rooms 0\n' }), problem(404, 'not_found'), 'internal_exposed'],
    [answer(200, { text: '<html>' }), problem(401, 'unauthorized'), 'internal_exposed'],
  ])('behind the public address, by %j and %j, is %s', (metrics, producer, name) => {
    expect(judgeExposure({ url, metrics, producer }).name).toBe(name);
  });

  const metrics = (text: string) => ({ health: ours(200), metrics: answer(200, { text }), keyed: ours(200) });
  test.each([
    [{ health: silence, metrics: silence, keyed: silence }, ['internal_unreachable']],
    [metrics('ledgerline_bus_away 0\n'), ['internal_reachable']],
    [{ ...metrics(''), keyed: undefined }, ['internal_reachable']],
    [{ ...metrics(''), keyed: problem(401, 'unauthorized') }, ['key_refused']],
    [
      metrics('ledgerline_bus_away 1\nledgerline_revocations_stale_seconds 61\n'),
      ['internal_reachable', 'bus_away', 'revocations_stale'],
    ],
  ])('that answers %j has %j', (seen, names) => expect(only(judgeInternal({ url, ...seen }))).toEqual(names));
});

describe('clocks', () => {
  const dated = (skewMs: number) => answer(401, { headers: { date: new Date(NOW + skewMs).toUTCString() } });
  const ticket = (skewMs: number) =>
    answer(201, { text: JSON.stringify({ expiresAt: new Date(NOW + skewMs + 300_000).toISOString() }) });

  test.each([
    [[], []],
    [readDate(silence, 'Date', false), []],
    [readDate(dated(-3_000), 'Date', false), ['clock_agrees']],
    [readDate(dated(3_600_000), 'Date', false), ['clock_off']],
    [[...readDate(dated(-3_600_000), 'Date', false), ...readTicket(ticket(0), undefined)], ['proxy_clock_off']],
    [[...readDate(dated(0), 'Date', false), ...readTicket(ticket(-3_600_000), undefined)], ['clock_off']],
    // it ends with its token, and says nothing of the time there
    [readTicket(ticket(-240_000), NOW + 60_000), []],
  ])('read as %j are %j', (readings, names) => expect(only(judgeClock(readings))).toEqual(names));
});

describe('a token', () => {
  const claims = {
    algorithm: 'HS256',
    missing: [],
    scopes: ['read'],
    sessions: ['*'],
    issuedAtMs: NOW,
    notBeforeMs: undefined,
    expiresAtMs: NOW + 60_000,
  };
  const refused = problem(401, 'unauthorized');
  const seen = { claims, isMinted: false, verifiesHere: undefined, tried: refused, isClockOff: false, nowMs: NOW };
  test.each<[Partial<TokenSeen>, string, string]>([
    [{ tried: ours(200) }, 'token_accepted', 'takes the token'],
    [{ tried: problem(403, 'forbidden') }, 'scope_missing', 'may not read'],
    [{ tried: problem(503, 'unavailable') }, 'token_refused', '503 unavailable'],
    [{ claims: undefined }, 'token_malformed', 'no JWT'],
    [{ claims: { ...claims, missing: ['jti', 'scope'] } }, 'token_malformed', 'lacks jti, scope'],
    [{ claims: { ...claims, expiresAtMs: NOW - 60_000 } }, 'token_expired', 'over since'],
    [{ claims: { ...claims, issuedAtMs: NOW + 60_000 } }, 'clock_off', 'of the future'],
    [{ claims: { ...claims, notBeforeMs: NOW + 60_000 } }, 'clock_off', 'of the future'],
    [{ tried: problem(401, 'unauthorized', 'the token was issued in the future') }, 'clock_off', 'of the future'],
    [{ isClockOff: true }, 'token_refused', 'clock is off'],
    [{ tried: problem(401, 'unauthorized', 'the token was revoked') }, 'token_refused', 'was revoked'],
    [{ isMinted: true }, 'token_refused', 'another secret, or none'],
    [{ verifiesHere: true }, 'token_refused', 'another secret, or none'],
    [{ verifiesHere: false }, 'token_refused', 'not signed with LEDGERLINE_TOKEN_SECRET'],
    [{}, 'token_refused', 'refuses the token (HS256)'],
  ])('seen as %j is %s', (more, name, words) => {
    expect(judgeToken({ ...seen, ...more })).toMatchObject({ name, seen: expect.stringContaining(words) });
  });

  test('is read without its key, and what is no token is none', () => {
    const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const text = `${part({ alg: 'HS256' })}.${part({ sub: 'maya', exp: 5, scope: 'read send' })}.signature`;
    expect(readClaims(text)).toMatchObject({
      missing: ['jti', 'sessions'],
      scopes: ['read', 'send'],
      expiresAtMs: 5_000,
    });
    expect(readClaims('no token')).toBeUndefined();
  });

  test.each([
    [['*'], 'doctor-1'],
    [['doctor-*', 'run-*'], 'doctor-1'],
    [['run-42', 'longer-run-*', 'run-*'], 'run-doctor-1'],
    [['run-42'], undefined],
    [[`${'x'.repeat(125)}*`], undefined],
  ])('for %j reaches %s of the doctor’s own', (sessions, id) => expect(idWithin(sessions, '1')).toBe(id));
});

describe('the head of a stream', () => {
  const headers = { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache, no-transform' };
  test.each([
    [{ status: 200, headers }, ['stream_headers']],
    [{ status: 503, headers }, ['stream_refused']],
    [{ status: 200, headers: { ...headers, 'content-type': 'text/plain' } }, ['content_type_changed']],
    [{ status: 200, headers: { ...headers, 'cache-control': 'no-cache' } }, ['cache_control_changed']],
    [{ status: 200, headers: {} }, ['content_type_changed', 'cache_control_changed']],
  ])('%j has %j', (head, names) => expect(only(judgeStreamHead(head))).toEqual(names));

  test.each([
    [{}, []],
    [{ 'content-encoding': 'identity' }, []],
    [{ 'content-encoding': 'br' }, ['stream_compressed']],
  ])('with %j has %j', (more, names) => expect(only(judgeEncoding({ status: 200, headers: more }))).toEqual(names));
});

describe('delivery', () => {
  const seen: DeliverySeen = {
    headersMs: 20,
    firstMs: 22,
    delaysMs: [1, 2, 3, 900, 1],
    planned: 5,
    release: undefined,
    end: undefined,
  };
  test.each<[Partial<DeliverySeen>, string, string]>([
    [{}, 'events_one_by_one', 'the slowest 900 ms'],
    [{ delaysMs: [1, 900, 800, 950, 1_000] }, 'events_late', '900 ms after their commit'],
    [{ planned: 0, delaysMs: [] }, 'first_frames_only', 'within 22 ms'],
    [
      { headersMs: undefined, firstMs: undefined, delaysMs: [], release: { kind: 'bytes', bytes: 7_168 } },
      'headers_held_back',
      'until 7 KiB had been written',
    ],
    [
      { firstMs: undefined, delaysMs: [], release: { kind: 'end' } },
      'events_held_back',
      'until the session was closed',
    ],
    [{ delaysMs: [1], release: { kind: 'never' } }, 'events_held_back', 'event 2 was held back, and did not come'],
    [{ firstMs: undefined, delaysMs: [], release: { kind: 'unknown' } }, 'events_held_back', 'could not be tried'],
    [{ delaysMs: [1], end: { atMs: 3_000, why: 'ECONNRESET' } }, 'stream_cut', 'after 3.0 s (ECONNRESET)'],
  ])('seen as %j is %s', (more, name, words) => {
    expect(judgeDelivery({ ...seen, ...more }, doctorLimits)).toMatchObject({
      name,
      seen: expect.stringContaining(words),
    });
  });
});

describe('a quiet stream', () => {
  const seen: WatchSeen = { watchedMs: 35_000, arrivalsMs: [20, 15_020, 30_020], end: undefined, farewell: undefined };
  const cut = (atMs: number) => ({ atMs, why: 'ended' });
  test.each<[Partial<WatchSeen>, string, string]>([
    [{}, 'stays_open', 'never silent for more than 15.0 s'],
    [{ arrivalsMs: [20, 30_020] }, 'sync_missing', 'nothing came for 30.0 s'],
    [{ arrivalsMs: [20] }, 'sync_missing', 'nothing came for 35.0 s'],
    [{ arrivalsMs: [20], end: cut(10_020) }, 'cut_while_idle', 'an idle limit below the 15.0 s'],
    // the first sync may come early
    [{ arrivalsMs: [20, 7_000], end: cut(12_000) }, 'cut_while_idle', '5.0 s after the last byte: a limit on how long'],
    // a sync had just come, so that it is no silence of the gateway's that was cut
    [
      { arrivalsMs: [20, 15_020], end: cut(20_000) },
      'cut_while_idle',
      'after 20.0 s (ended), 5.0 s after the last byte: a limit on how long',
    ],
    [{ arrivalsMs: [20], end: cut(20_020) }, 'cut_while_idle', 'syncs were held back'],
    [{ end: cut(31_000), farewell: 'goaway' }, 'server_left', 'with goaway'],
  ])('seen as %j is %s', (more, name, words) => {
    expect(judgeWatch({ ...seen, ...more }, doctorLimits)).toMatchObject({
      name,
      seen: expect.stringContaining(words),
    });
  });
});

test.each([
  [{ byHeader: 7, byQuery: 7 }, ['resumes']],
  [{ byHeader: 'over', byQuery: 7 }, ['resumes']],
  [{ byHeader: 0, byQuery: 7 }, ['last_event_id_lost']],
  [{ byHeader: 7, byQuery: 0 }, ['after_lost']],
  [{ byHeader: undefined, byQuery: undefined }, ['last_event_id_lost', 'after_lost']],
] as const)('a reader that comes back, seen as %j, has %j', (seen, names) => {
  expect(only(judgeResume({ cursor: 7, ...seen }))).toEqual(names);
});

describe('a ticket', () => {
  const cookie = 'ledgerline_pass=p; Path=/sessions/s1/stream; Max-Age=60; HttpOnly; SameSite=Strict';
  const redeemed = { status: 200, setCookie: [`${cookie}; Secure`] };
  const seen: TicketSeen = { url, session: 's1', minted: ours(201), redeemed, byCookie: ours(200), origin: undefined };
  test.each<[Partial<TicketSeen>, string[]]>([
    [{}, ['ticket_opens', 'pass_arrives', 'cookies_arrive']],
    [{ byCookie: undefined }, ['ticket_opens', 'pass_arrives']],
    [{ minted: problem(403, 'forbidden') }, ['ticket_refused']],
    [{ redeemed: { status: 401, setCookie: [] } }, ['ticket_lost']],
    [{ redeemed: { status: 200, setCookie: [] } }, ['ticket_opens', 'pass_lost', 'cookies_arrive']],
    [{ url: `${url}/prefix` }, ['ticket_opens', 'pass_unusable', 'cookies_arrive']],
    [{ url: 'http://events.test' }, ['ticket_opens', 'pass_unusable', 'cookies_arrive']],
    [{ url: 'http://127.0.0.1:8080' }, ['ticket_opens', 'pass_elsewhere', 'cookies_arrive']],
    [{ redeemed: { status: 200, setCookie: [cookie] } }, ['ticket_opens', 'pass_insecure', 'cookies_arrive']],
    [{ origin: 'https://app.test' }, ['ticket_opens', 'pass_unusable', 'cookies_arrive']],
    [
      { url: 'https://a.events.test', origin: 'https://b.events.test' },
      ['ticket_opens', 'pass_arrives', 'cookies_arrive'],
    ],
    [{ byCookie: problem(401, 'unauthorized') }, ['ticket_opens', 'pass_arrives', 'cookies_lost']],
  ])('seen as %j has %j', (more, names) => expect(only(judgeTicket({ ...seen, ...more }))).toEqual(names));
});

describe('a page of another origin', () => {
  const origin = 'https://app.test';
  const allowing = (value: string) =>
    answer(204, { headers: { 'access-control-allow-origin': value, 'access-control-allow-credentials': 'true' } });
  test.each([
    [allowing(origin), allowing(origin), 'origin_allowed'],
    [answer(204), answer(401), 'origin_refused'],
    [allowing('*'), allowing('*'), 'origin_refused'],
    [silence, allowing(origin), 'origin_refused'],
    [allowing(origin), allowing(`${origin}, *`), 'origin_doubled'],
  ])('answered %j and %j is %s', (preflight, read, name) => {
    expect(judgeOrigin({ url, origin, preflight, read }).name).toBe(name);
  });

  test('a page of the address’s own origin needs no permission, and suffers by two all the same', () => {
    const own = { url: `${url}/prefix`, origin: url };
    expect(judgeOrigin({ ...own, preflight: answer(204), read: answer(401) }).name).toBe('origin_allowed');
    const doubled = allowing(`${url}, *`);
    expect(judgeOrigin({ ...own, preflight: doubled, read: doubled }).name).toBe('origin_doubled');
  });
});

test('a producer’s line that is not acknowledged while its request goes on was held back', () => {
  expect(judgeLines({ acknowledgedMs: 12, waitedMs: 2_000, instead: undefined }).name).toBe('lines_stream');
  expect(judgeLines({ acknowledgedMs: undefined, waitedMs: 2_000, instead: undefined }).name).toBe('lines_held_back');
  // A proxy that knows no such route, or a gateway that is away, holds nothing back.
  expect(judgeLines({ acknowledgedMs: undefined, waitedMs: 2_000, instead: '404' }).name).toBe('lines_refused');
});
