/** Does what is written arrive at once, and if not: what held it, and until when (pure)? */
import type { DoctorLimits } from '../../base/doctor-limits.ts';
import { finding, inWords } from './finding.ts';
import type { Finding } from './finding.ts';

/** What let a buffer go. `unknown`: nothing could be written to find out. */
export type Release =
  | { readonly kind: 'bytes'; readonly bytes: number }
  | { readonly kind: 'end' }
  | { readonly kind: 'never' }
  | { readonly kind: 'unknown' };

export interface DeliverySeen {
  /** Since the request; undefined while they were held back. */
  readonly headersMs: number | undefined;
  /** Of `connected`, which a gateway sends at once. */
  readonly firstMs: number | undefined;
  /** From an event's commit to its arrival, each written when the one before was here. */
  readonly delaysMs: readonly number[];
  /** Of the events that were to be written one by one; 0 where nobody may write. */
  readonly planned: number;
  /** Undefined where nothing was held back. */
  readonly release: Release | undefined;
  /** The stream was over before everything had been tried. */
  readonly end: { readonly atMs: number; readonly why: string } | undefined;
}

const flush =
  'let the proxy pass on what it gets, at once: nginx: proxy_buffering off, or no proxy_ignore_headers X-Accel-Buffering; ' +
  'Caddy: reverse_proxy with flush_interval -1; and no layer that collects (CDN, compression, inspection)';

export function judgeDelivery(seen: DeliverySeen, { lateMs }: Pick<DoctorLimits, 'lateMs'>): Finding {
  const { headersMs, firstMs, delaysMs, planned, release, end } = seen;
  if (end !== undefined) {
    return finding(
      'stream_cut',
      `the stream was cut after ${inWords(end.atMs)} (${end.why}), while events were written`,
      'look into the logs of the proxies and of the gateway for that moment',
    );
  }
  if (release !== undefined) {
    const until = untilWhen(release);
    if (headersMs === undefined)
      return finding('headers_held_back', `the stream's headers were held back${until}`, flush);
    const what = firstMs === undefined ? 'the first frames were' : `event ${delaysMs.length + 1} was`;
    return finding(
      'events_held_back',
      `the headers came within ${inWords(headersMs)}, and ${what} held back${until}`,
      flush,
    );
  }
  if (planned === 0) {
    return finding(
      'first_frames_only',
      `the first frames came within ${inWords(firstMs ?? 0)}; whether events do was not tried, for nobody may append`,
      'set LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY',
    );
  }
  const slowest = Math.max(...delaysMs);
  const usual = delaysMs.toSorted((one, other) => one - other)[Math.floor(delaysMs.length / 2)] ?? 0;
  if (usual > lateMs) {
    return finding(
      'events_late',
      `events arrive one by one, but ${inWords(usual)} after their commit: their broadcasts do not reach the reader's gateway`,
      'give all gateways of a database the same NATS_URL and LEDGERLINE_NATS_SUBJECT_ROOT; without NATS there must be only one',
    );
  }
  return finding(
    'events_one_by_one',
    `headers within ${inWords(headersMs ?? 0)}, and each of ${planned} events before the next was written, the slowest ${inWords(slowest)} after its commit`,
  );
}

function untilWhen(release: Release): string {
  switch (release.kind) {
    case 'bytes':
      return ` until ${Math.ceil(release.bytes / 1_024)} KiB had been written`;
    case 'end':
      return ' until the session was closed';
    case 'never':
      return ', and did not come at its end either';
    case 'unknown':
      return '; until when could not be tried, for nobody may append';
  }
}
