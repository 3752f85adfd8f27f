/** `ledgerline doctor` names what is wrong with a deployment, and finds no fault with one that is right. */
import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { doctorLimits } from '../../src/base/doctor-limits.ts';
import { run as runProgram } from '../../src/cli/program.ts';
import { freePort } from '../../src/db/postgres-process.ts';
import { runCli } from '../support/cli.ts';
import { diagnose } from '../support/doctor-diagnosis.ts';
import type { Patient } from '../support/doctor-diagnosis.ts';
import { call } from '../support/gateway-calls.ts';
import { startGateway } from '../support/gateway.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { startNginx } from '../support/nginx.ts';
import type { NginxOptions } from '../support/nginx.ts';
import { freshDatabase } from '../support/services.ts';
import type { FreshDatabase } from '../support/services.ts';
import { newSession } from '../support/session-calls.ts';
import { mintTestToken } from '../support/token.ts';

/** Of the gateway's own site, so that the cookie of a ticket is sent from there. */
const ORIGIN = 'http://127.0.0.1:9';

let database: FreshDatabase;
let gateway: RunningGateway;

beforeAll(async () => {
  database = await freshDatabase();
  // Without TLS a browser sends no cookie that is for TLS alone: that would be a fault.
  gateway = await startGateway({
    databaseUrl: database.url,
    environment: {
      LEDGERLINE_COOKIE_SECURE: 'false',
      LEDGERLINE_ALLOWED_ORIGINS: ORIGIN,
    },
  });
});
afterAll(async () => {
  await gateway?.kill();
  await database?.drop();
});

/** With every credential there is. */
const whole = (url = gateway.publicUrl): Patient => ({
  url,
  token: gateway.token,
  internalUrl: gateway.internalUrl,
  key: gateway.key,
});

/** Behind an nginx with these lines beside its defaults. */
async function behind(options: NginxOptions = {}): Promise<Patient> {
  const nginx = await startNginx(gateway.publicUrl, options);
  onTestFinished(() => nginx.stop());
  return whole(nginx.url);
}

const leftSessions = async (): Promise<readonly string[]> => {
  const { text } = await call(gateway, 'GET', '/sessions?limit=200');
  return [...text.matchAll(/"session":"([^"]*doctor-[^"]*)"/g)].map(([, id]) => id ?? '');
};

describe('a deployment that is right', () => {
  test('has no fault, and nothing of the diagnosis stays in it', async () => {
    const { faults, names } = await diagnose(whole(), { isLong: true });
    expect(faults).toEqual([]);
    expect(names).toEqual([
      'reachable',
      'internal_reachable',
      'ready',
      'http1',
      'internal_hidden',
      'clock_agrees',
      'token_accepted',
      'stream_headers',
      'events_one_by_one',
      'lines_stream',
      'ticket_opens',
      'pass_arrives',
      'cookies_arrive',
      'resumes',
      'stays_open',
    ]);
    expect(await leftSessions()).toEqual([]);
  });

  test('has none behind an nginx with its defaults, for a page of an origin that may read', async () => {
    const { faults, names, finding } = await diagnose(await behind(), { origin: ORIGIN });
    expect(faults).toEqual([]);
    expect(names).toContain('origin_allowed');
    expect(finding('stream_headers').seen).toContain('taken by a proxy');
  });

  test('is looked at with the key alone through a ticket, and with the secret alone through a token of its own', async () => {
    const byKey = await diagnose({ ...whole(), token: undefined });
    expect(byKey.faults).toEqual([]);
    expect(byKey.names).toEqual(expect.arrayContaining(['token_missing', 'events_one_by_one', 'resumes']));
    const bySecret = await diagnose({ url: gateway.publicUrl, secret: gateway.secret });
    expect(bySecret.faults).toEqual([]);
    expect(bySecret.names).toEqual(expect.arrayContaining(['token_accepted', 'first_frames_only', 'resume_unseen']));
    expect(await leftSessions()).toEqual([]);
  });

  test('is only read where a session is named, and where nothing is known it is said what that would need', async () => {
    const session = await newSession(gateway, 3);
    const reader = { url: gateway.publicUrl, token: await gateway.mint({ sessions: [session], scope: 'read' }) };
    const { faults, names } = await diagnose(reader, { session });
    expect(faults).toEqual([]);
    expect(names).toEqual(expect.arrayContaining(['first_frames_only', 'resumes', 'cookies_arrive']));
    const described = await call(gateway, 'GET', `/sessions/${session}`);
    expect(described.text).toContain('"head":3,');
    const { findings } = await diagnose({ url: gateway.publicUrl });
    const leftOut = findings.filter(({ severity }) => severity === 'skipped');
    expect(leftOut.map(({ name }) => name)).toEqual(['internal_unknown', 'token_missing', 'session_missing']);
    expect(leftOut.every(({ todo }) => todo !== undefined)).toBe(true);
  });
});

test('an interruption ends a diagnosis at once, and what it has made is deleted all the same', async () => {
  const stop = new AbortController();
  const interrupted = diagnose(whole(), {
    isLong: true,
    times: { watchMs: 600_000 },
    stop: stop.signal,
    onFinding: (name) => name === 'resumes' && stop.abort(),
  });
  await expect(interrupted).rejects.toThrow('interrupted before everything was looked at');
  expect(await leftSessions()).toEqual([]);
});

describe('a deployment that is broken is named by it', () => {
  test('where a proxy buffers and ignores what it is asked for', async () => {
    const patient = await behind({ location: ['proxy_buffering on;', 'proxy_ignore_headers X-Accel-Buffering;'] });
    const { faults, finding } = await diagnose(patient, { times: { heldBackMs: 1_000 } });
    expect(faults).toEqual(['headers_held_back']);
    expect(finding('headers_held_back').seen).toMatch(/until \d+ KiB had been written/);
    expect(finding('headers_held_back').todo).toContain('proxy_buffering off');
  });

  test('where a proxy compresses event streams', async () => {
    const location = ['gzip on;', 'gzip_types *;', 'gzip_min_length 0;', 'gzip_proxied any;', 'gzip_http_version 1.0;'];
    const { faults, names } = await diagnose(await behind({ location }));
    expect(faults).toEqual(['stream_compressed']);
    // whether they get out all the same is another matter
    expect(names).toContain('events_one_by_one');
  });

  test('where a proxy cuts what is quiet for too long', async () => {
    const patient = await behind({ location: ['proxy_read_timeout 3s;'] });
    const { faults, finding } = await diagnose(patient, { isLong: true, times: { watchMs: 30_000 } });
    expect(faults).toEqual(['cut_while_idle']);
    expect(finding('cut_while_idle').seen).toMatch(
      /cut after \d+\.\d s .* after the last byte: an idle limit below the 15\.0 s/,
    );
  });

  test('where a proxy strips Last-Event-ID', async () => {
    const { faults, finding } = await diagnose(await behind({ location: ['proxy_set_header Last-Event-ID "";'] }));
    expect(faults).toEqual(['last_event_id_lost']);
    expect(finding('last_event_id_lost').seen).toContain('was sent everything after 0; with ?after= it goes on');
  });

  test('where the gateway has no secret, and so does not start', async () => {
    const environment = { DATABASE_URL: database.url, LEDGERLINE_INTERNAL_KEY: gateway.key };
    const refused = await runCli(['serve'], { folder: inject('runFolder'), environment });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('LEDGERLINE_TOKEN_SECRET is missing') });
    const nobody = `http://127.0.0.1:${await freePort()}`;
    const nginx = await startNginx(nobody, { server: ['location = /healthz { return 200; }'] });
    onTestFinished(() => nginx.stop());
    const { faults, finding } = await diagnose({ url: nginx.url });
    expect(faults).toEqual(['no_gateway']);
    expect(finding('no_gateway').todo).toContain('LEDGERLINE_TOKEN_SECRET');
    expect((await diagnose({ url: nobody })).faults).toEqual(['unreachable']);
  });

  test('where the gateway has another secret than the tokens', async () => {
    const other = 'another secret of the tests, just as long';
    const { faults, finding } = await diagnose({ url: gateway.publicUrl, secret: other });
    expect(faults).toEqual(['token_refused']);
    expect(finding('token_refused').seen).toContain('it has another secret, or none');
    const foreign = { url: gateway.publicUrl, token: await mintTestToken(other), secret: gateway.secret };
    expect((await diagnose(foreign)).finding('token_refused').seen).toContain(
      'was not signed with LEDGERLINE_TOKEN_SECRET',
    );
  });

  test.each([
    { hours: 1, words: 'ahead of' },
    { hours: -1, words: 'behind' },
  ])('where the clock of the gateway is $hours h off', async ({ hours, words }) => {
    const clock = { ...systemClock, wall: () => systemClock.wall() + hours * 3_600_000 };
    const off = await startInProcessGateway({ config: { databaseUrl: database.url }, overrides: { clock } });
    onTestFinished(() => off.stop());
    const patient = {
      url: off.publicUrl,
      internalUrl: off.internalUrl,
      key: off.key,
      token: await off.token({ ttlSeconds: 600 }),
    };
    const { faults, finding } = await diagnose(patient);
    expect(faults).toEqual(['clock_off', 'token_refused']);
    expect(finding('clock_off').seen).toMatch(
      new RegExp(`^the clock there is [56]\\d\\.\\d min ${words} this machine's`),
    );
    expect(finding('token_refused').todo).toBe('set the clocks first');
  });

  test('where the proxy leads to the internal listener', async () => {
    expect((await diagnose({ url: gateway.internalUrl })).faults).toEqual(['internal_exposed']);
  });

  test('where a page’s origin may not read', async () => {
    const { faults } = await diagnose(whole(), { origin: 'http://127.0.0.1:10' });
    expect(faults).toEqual(['origin_refused']);
  });

  test('where two gateways of one database have no bus between them, or each its own database', async () => {
    const same = await startInProcessGateway({ config: { databaseUrl: database.url } });
    onTestFinished(() => same.stop());
    const { lateMs, probeEvents } = { ...doctorLimits, probeEvents: 3 };
    const apart = { ...whole(same.publicUrl), token: await same.token() };
    const late = await diagnose(apart, { times: { lateMs, probeEvents } });
    expect(late.finding('events_late').todo).toContain('NATS_URL');
    const other = await startInProcessGateway();
    onTestFinished(() => other.stop());
    const { faults } = await diagnose({ ...whole(other.publicUrl), token: await other.token() });
    expect(faults).toEqual(['two_deployments']);
  });
});

describe('the command', () => {
  const secrets = (): string[] => [gateway.token, gateway.key, gateway.secret, 'ticket=', 'ledgerline_pass='];

  async function run(commandLine: readonly string[], env: Record<string, string>) {
    let printed = '';
    const code = await runProgram(['node', 'ledgerline', 'doctor', ...commandLine], {
      env,
      folder: mkdtempSync(join(inject('runFolder'), 'doctor-')),
      input: Readable.from([]),
      output: {
        print: (text) => Promise.resolve(void (printed += text)),
        note: (text) => void (printed += `${text}\n`),
        isClosed: false,
      },
      stop: new AbortController().signal,
      clock: systemClock,
    });
    return { code, printed };
  }

  test('exits with 0 where there is no fault, one line a finding, and prints no secret', async () => {
    const env = {
      LEDGERLINE_URL: gateway.publicUrl,
      LEDGERLINE_TOKEN: gateway.token,
      LEDGERLINE_INTERNAL_URL: gateway.internalUrl,
      LEDGERLINE_KEY: gateway.key,
      LEDGERLINE_TOKEN_SECRET: gateway.secret,
    };
    const { code, printed } = await run(['--quick', '--json'], env);
    const [note, ...lines] = printed.trimEnd().split('\n').toReversed();
    expect({ code, note }).toEqual({ code: 0, note: expect.stringMatching(/^0 faults, \d hints?, 1 check left out$/) });
    expect(lines.map((line) => JSON.parse(line) as object)).toContainEqual(
      expect.objectContaining({ name: 'reachable', severity: 'ok' }),
    );
    expect(secrets().filter((secret) => printed.includes(secret))).toEqual([]);
  });

  test('exits with 1 where there is one, says what to do, and prints no secret', async () => {
    const env = { LEDGERLINE_TOKEN: gateway.token, LEDGERLINE_KEY: gateway.key };
    const { code, printed } = await run([gateway.internalUrl, '--quick'], env);
    expect(code).toBe(1);
    expect(printed).toMatch(/^fault {4}.* \(internal_exposed\)\n {9}→ let the proxy pass on to the public port alone/m);
    expect(printed).toMatch(/\nledgerline: \d faults?, /);
    expect(secrets().filter((secret) => printed.includes(secret))).toEqual([]);
  });
});
