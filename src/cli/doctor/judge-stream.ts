/** The answer's status and headers, as whatever stands between let them through (pure). */
import type { IncomingHttpHeaders } from 'node:http';
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';

export interface StreamHead {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
}

export function judgeStreamHead({ status, headers }: StreamHead): Finding[] {
  if (status !== 200) {
    return [
      finding(
        'stream_refused',
        `the stream is answered ${status}`,
        "a browser's EventSource ends for ever on it: see docs/PROTOCOL.md, Status, and the log of the gateway",
      ),
    ];
  }
  const type = headers['content-type'] ?? 'none';
  const cache = headers['cache-control'] ?? 'none';
  const findings = [
    ...(type.startsWith('text/event-stream')
      ? []
      : [
          finding(
            'content_type_changed',
            `the stream comes with the content type ${type}`,
            'let the proxy leave Content-Type alone: browsers take text/event-stream and nothing else',
          ),
        ]),
    ...(cache.includes('no-transform')
      ? []
      : [
          finding(
            'cache_control_changed',
            `the stream comes with Cache-Control: ${cache}, without the no-transform that it was given`,
            'let the proxy leave Cache-Control of /sessions alone: further proxies may hold back or compress what they may transform',
          ),
        ]),
  ];
  if (findings.length > 0) return findings;
  const accel =
    headers['x-accel-buffering'] === undefined
      ? 'X-Accel-Buffering was taken by a proxy, as nginx does'
      : 'X-Accel-Buffering as it was sent';
  return [finding('stream_headers', `text/event-stream with no-transform, ${accel}`)];
}

/** Whatever encodes the body collects before it lets go, unless it flushes for every event. */
export function judgeEncoding({ headers }: StreamHead): Finding[] {
  const encoding = headers['content-encoding'] ?? 'identity';
  if (encoding === 'identity') return [];
  return [
    finding(
      'stream_compressed',
      `the stream comes as ${encoding}, though it says no-transform`,
      'take text/event-stream out of what is compressed: nginx: gzip_types without it and without *; Caddy: encode with a match for other types',
    ),
  ];
}
