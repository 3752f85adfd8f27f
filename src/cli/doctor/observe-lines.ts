/** Opens a producer's stream of events, and sees whether a line is acknowledged while the request goes on. */
import { request as requestHttp } from 'node:http';
import { request as requestHttps } from 'node:https';
import { producerLimits } from '../../base/producer-limits.ts';
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
  const waitedMs = producerLimits.streamProbeMs;
  return new Promise((resolve) => {
    const sentMs = clock.now();
    const outgoing = (address.protocol === 'https:' ? requestHttps : requestHttp)(address, {
      method: 'POST',
      agent: false,
      headers: { ...bearer(key), 'content-type': 'application/x-ndjson' },
    });
    const settle = (acknowledgedMs: number | undefined, instead?: string): void => {
      timer.cancel();
      stop.removeEventListener('abort', giveUp);
      outgoing.destroy();
      resolve({ acknowledgedMs, waitedMs, instead });
    };
    const giveUp = (): void => settle(undefined);
    const fail = (thrown: Error): void => settle(undefined, `by no one: ${thrown.message}`);
    const timer = clock.after(waitedMs, giveUp);
    stop.addEventListener('abort', giveUp, { once: true });
    outgoing.on('error', fail);
    outgoing.on('response', (response) => {
      if (response.statusCode !== 200) return settle(undefined, String(response.statusCode));
      let text = '';
      response.setEncoding('utf8');
      response.on('error', fail);
      response.on('data', (piece: string) => {
        text += piece;
        if (text.includes('"counter":1')) settle(clock.now() - sentMs);
      });
    });
    outgoing.write(LINE);
  });
}
