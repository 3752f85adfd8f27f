/** No token, ticket, cookie or key is in anything that a server says: its log, its errors, its metrics. */
import { expect, it, onTestFinished } from 'vitest';
import { call } from '../support/gateway-calls.ts';
import { exchange, head } from '../support/raw-http.ts';
import { newSession } from '../support/session-calls.ts';
import { readStream } from '../support/sse-reader.ts';
import { database, gateway as start } from '../support/stage.ts';
import { startIssuer } from '../support/issuer.ts';
import { eventually } from '../support/waits.ts';

it('a server at its most talkative, asked rightly and wrongly', async () => {
  const issuer = await startIssuer();
  onTestFinished(() => issuer.stop());
  issuer.state = 'failing';
  await issuer.addKey('k1', 'ES256');
  const { url: databaseUrl } = await database();
  const gateway = await start({
    databaseUrl,
    environment: { LEDGERLINE_LOG_LEVEL: 'debug', LEDGERLINE_JWKS_URL: issuer.url },
  });
  const session = await newSession(gateway, 1);
  const stream = `/sessions/${session}/stream`;
  const answers: string[] = [];
  const ask = async (path: string, headers: Record<string, string>, init: RequestInit = {}): Promise<Response> => {
    const answer = await fetch(gateway.publicUrl + path, { headers, ...init });
    if (answer.headers.get('content-type')?.includes('json') === true) answers.push(await answer.clone().text());
    return answer;
  };

  const bearer = { authorization: `Bearer ${gateway.token}` };
  const { ticket } = (await (await ask(`/sessions/${session}/tickets`, bearer, { method: 'POST' })).json()) as {
    ticket: string;
  };
  answers.length = 0; // the ticket's own answer has it
  const reader = await readStream(`${gateway.publicUrl}${stream}?ticket=${ticket}`, {});
  await reader.events(1);
  const pass = /ledgerline_pass=([^;]+)/.exec(reader.headers.get('set-cookie') ?? '')?.[1] ?? '';
  await reader.close();
  const cookie = await gateway.mint({ subject: 'cookie' });
  const wrong = `${gateway.token.slice(0, -8)}AAAAAAAA`;
  const issued = await issuer.token();
  const expired = await gateway.mint({ ttlSeconds: -3_600 });

  for (const [path, headers] of [
    [`/sessions/${session}`, { cookie: `ledgerline_token=${cookie}` }],
    [`/sessions/${session}`, { authorization: `Bearer ${wrong}` }],
    [`/sessions/${session}`, { authorization: `Bearer ${issued}` }],
    [`/sessions/${session}`, { authorization: `Bearer ${expired}` }],
    [`/sessions/${session}`, { authorization: `Basic ${wrong}` }],
    [`${stream}?ticket=${ticket}x`, { cookie: `ledgerline_pass=${pass}x` }],
    [`/sessions/none/stream?ticket=${ticket}`, {}],
    [`/nowhere?ticket=${ticket}&token=${cookie}`, bearer],
    [`/sessions/${session}/events?after=${ticket}`, bearer],
    [`/sessions/${session}/events?limit=${ticket}`, bearer],
    [`/sessions?after=${ticket}`, bearer],
    [`/sessions/${ticket}/stream`, bearer],
  ] as const) {
    await (await ask(path, headers)).body?.cancel();
  }
  const internal = { authorization: `Bearer ${gateway.key}x` };
  await (await fetch(`${gateway.internalUrl}/sessions/${session}`, { headers: internal })).body?.cancel();
  // what is no request at all, and one whose path cannot be read
  await exchange(gateway.publicUrl, `GET ${stream}?ticket=${ticket} HTTP/9.9\r\nCookie: ${pass}\r\n\r\n`);
  await exchange(gateway.publicUrl, head('GET', `//%zz?ticket=${ticket}`, { Cookie: pass, Connection: 'close' }));
  await eventually('the last of them is logged', () => gateway.output().includes('sent no request'));
  await call(gateway, 'POST', '/internal/revocations', JSON.stringify({ sub: 'cookie' }));

  const { text: metrics } = await call(gateway, 'GET', '/metrics');
  expect(await gateway.terminate()).toBe(0);
  const output = gateway.output();
  expect(output).toContain('"route":"/sessions/:session/stream"');
  for (const secret of [gateway.token, ticket, pass, cookie, wrong, issued, expired, gateway.key, gateway.secret]) {
    // not the whole, and not its signature
    for (const part of [secret, secret.slice(-24)]) {
      expect(output).not.toContain(part);
      expect(metrics).not.toContain(part);
      expect(answers.join('\n')).not.toContain(part);
    }
  }
});
