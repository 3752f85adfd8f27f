/** What the doctor makes of answers that no gateway gives: it ends in findings, and blames nobody for them. */
import { createServer } from 'node:http';
import type { RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { doctorLimits } from '../../src/base/doctor-limits.ts';
import type { Wire } from '../../src/cli/doctor/call.ts';
import { examineAccess } from '../../src/cli/doctor/examine-access.ts';
import { listen } from '../../src/cli/doctor/listen.ts';
import { observeToken } from '../../src/cli/doctor/observe-token.ts';
import { createOwnSessions } from '../../src/cli/doctor/own-session.ts';

const wire: Wire = { clock: systemClock, stop: new AbortController().signal, times: doctorLimits };

async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('a body whose line has no end is heard as far as it may be, and ends the stream', async () => {
  const url = await serve((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    const more = (): void => {
      while (!response.destroyed && response.write('x'.repeat(65_536)));
    };
    response.on('drain', more);
    more();
  });
  const stream = listen(wire, { url, path: '/' });
  expect(await stream.until(() => false, 60_000)).toBe(false);
  expect(stream.end?.why).toBe('a line without an end');
  stream.close();
});

test.each([
  [404, 'session_unknown', true],
  [503, 'unavailable', false],
])(
  'a session of its own that is answered %i %s on the public address: two deployments is %s',
  async (status, code, isTold) => {
    const problem = JSON.stringify({ type: `urn:ledgerline:problem:${code}`, detail: '' });
    const url = await serve((request, response) => {
      const isList = request.url?.startsWith('/sessions?') === true;
      response.writeHead(isList ? 200 : status).end(isList ? '{}' : problem);
    });
    const internalUrl = await serve((_, response) => {
      response
        .writeHead(201)
        .end(JSON.stringify({ ticket: 't', expiresAt: new Date(Date.now() + 300_000).toISOString() }));
    });
    const deployment = {
      url,
      internalUrl,
      key: 'k',
      token: undefined,
      secret: 'a secret of the tests, long enough for HS256',
      issuer: undefined,
      audience: undefined,
    };
    const own = createOwnSessions(wire, { url: internalUrl, credential: 'k', mayAppend: true, sessions: ['doctor-*'] });
    const names: string[] = [];
    await examineAccess({
      examination: {
        deployment,
        wire,
        session: undefined,
        origin: undefined,
        isQuick: true,
        tell: () => Promise.resolve(),
        watching: () => undefined,
      },
      tell: (...findings) => Promise.resolve(void names.push(...findings.map(({ name }) => name))),
      key: 'k',
      token: await observeToken(wire, deployment, undefined),
      own,
      dates: [],
    });
    expect(names).toContain('token_accepted');
    expect(names.includes('two_deployments')).toBe(isTold);
  },
);
