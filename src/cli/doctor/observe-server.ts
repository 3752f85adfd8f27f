/** Looks at what answers at an address: the gateway behind it, its two listeners, and the connection itself. */
import { isIP } from 'node:net';
import { connect } from 'node:tls';
import { ask, bearer, isLedgerline } from './call.ts';
import type { Outcome, Wire } from './call.ts';
import { isLoopback } from './deployment.ts';
import type { Deployment } from './deployment.ts';
import type { ExposureSeen, InternalSeen } from './judge-internal.ts';
import type { ReadinessSeen, ServerSeen } from './judge-server.ts';
import type { TransportSeen } from './judge-transport.ts';

const LIST = '/sessions?limit=1';

export const observeServer = async (wire: Wire, { url }: Deployment): Promise<ServerSeen> => ({
  url,
  door: await ask(wire, { url, path: LIST }),
});

/** Where a proxy does not pass these routes on, at the internal listener. */
export async function observeReadiness(wire: Wire, { url, internalUrl }: Deployment): Promise<ReadinessSeen> {
  const seen = await readinessAt(wire, url);
  if (internalUrl === undefined || isLedgerline(seen.readiness)) return seen;
  return readinessAt(wire, internalUrl);
}

const readinessAt = async (wire: Wire, url: string): Promise<ReadinessSeen> => ({
  url,
  health: await ask(wire, { url, path: '/healthz' }),
  readiness: await ask(wire, { url, path: '/readyz' }),
});

export const observeExposure = async (wire: Wire, { url }: Deployment): Promise<ExposureSeen> => ({
  url,
  metrics: await ask(wire, { url, path: '/metrics' }),
  producer: await ask(wire, { url, path: '/internal/sessions/doctor/producers/doctor' }),
});

export async function observeInternal(wire: Wire, url: string, key: string | undefined): Promise<InternalSeen> {
  return {
    url,
    health: await ask(wire, { url, path: '/healthz' }),
    metrics: await ask(wire, { url, path: '/metrics' }),
    keyed: key === undefined ? undefined : await askList(wire, url, key),
  };
}

/** What any credential that may read is answered with 200. */
export const askList = (wire: Wire, url: string, credential: string): Promise<Outcome> =>
  ask(wire, { url, path: LIST, headers: bearer(credential) });

export async function observeTransport(wire: Wire, { url }: Deployment): Promise<TransportSeen> {
  const isTls = new URL(url).protocol === 'https:';
  return { isTls, isLoopback: isLoopback(url), alpn: isTls ? await agree(wire, url) : undefined };
}

/** What the address chooses when it is offered both, as browsers do. */
function agree({ clock, times }: Wire, url: string): Promise<string | undefined> {
  const { hostname, port } = new URL(url);
  const host = hostname.replace(/^\[|\]$/g, '');
  return new Promise((resolve) => {
    const socket = connect({
      host,
      port: port === '' ? 443 : Number(port),
      ...(isIP(host) === 0 && { servername: host }),
      ALPNProtocols: ['h2', 'http/1.1'],
    });
    const settle = (protocol: string | undefined): void => {
      timer.cancel();
      socket.destroy();
      resolve(protocol);
    };
    const timer = clock.after(times.answerMs, () => settle(undefined));
    // That it can be reached over TLS was seen before: this only asks what it speaks.
    socket.on('error', () => settle(undefined));
    socket.on('secureConnect', () =>
      settle(socket.alpnProtocol === false ? undefined : (socket.alpnProtocol ?? undefined)),
    );
  });
}
