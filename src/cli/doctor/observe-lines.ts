/** Opens a producer's stream of events, and sees whether a line is acknowledged while the request goes on. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { limits } from '../../base/limits.ts';
import { bearer } from './call.ts';
import type { Wire } from './call.ts';
import type { LinesSeen } from './judge-lines.ts';

const LINE = '{"type":"doctor.probe","data":{"filler":""}}\n';

export interface Lines {
  readonly url: string;
  readonly key: string;
  readonly session: string;
}

export function observeLines({ clock, stop }: Wire, { url, key, session }: Lines): Promise<LinesSeen> {
  const address = new URL(`${url}/internal/sessions/${session}/events?producer=doctor&sequence=1`);
  // The library waits as long before it gives its stream up.
  const waitedMs = limits.streamProbeMs;
  return new Promise((resolve) => {
    const sentMs = clock.now();
    const outgoing = (address.protocol === 'https:' ? requestHttps : requestHttp)(address, {
      method: 'POST',
      agent: false,
      headers: { ...bearer(key), 'content-type': 'application/x-ndjson' },
    });
    const settle = (acknowledgedMs: number | undefined): void => {
      timer.cancel();
      stop.removeEventListener('abort', giveUp);
      outgoing.destroy();
      resolve({ acknowledgedMs, waitedMs });
    };
    const giveUp = (): void => settle(undefined);
    const timer = clock.after(waitedMs, giveUp);
    stop.addEventListener('abort', giveUp, { once: true });
    // A request that fails was not acknowledged, whatever the reason.
    outgoing.on('error', giveUp);
    outgoing.on('response', (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('error', giveUp);
      response.on('data', (piece: string) => {
        text += piece;
        if (text.includes('"counter":1')) settle(clock.now() - sentMs);
      });
    });
    outgoing.write(LINE);
  });
}
