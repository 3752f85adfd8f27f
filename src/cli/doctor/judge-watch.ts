/** Does a quiet stream stay open, with a sign of life when one is due (pure)? */
import type { DoctorLimits } from '../../base/doctor-limits.ts';
import { finding, inWords } from './finding.ts';
import type { Finding } from './finding.ts';

export interface WatchSeen {
  readonly watchedMs: number;
  /** When something arrived, since the stream was asked for. */
  readonly arrivalsMs: readonly number[];
  readonly end: { readonly atMs: number; readonly why: string } | undefined;
  /** It was told to go: `goaway`, `end` or `denied`. */
  readonly farewell: string | undefined;
}

type Times = Pick<DoctorLimits, 'syncMs' | 'syncSlackMs'>;

export function judgeWatch({ watchedMs, arrivalsMs, end, farewell }: WatchSeen, times: Times): Finding {
  if (end !== undefined && farewell !== undefined) {
    return finding(
      'server_left',
      `the gateway ended the quiet stream after ${inWords(end.atMs)} with ${farewell}`,
      'try again',
    );
  }
  if (end !== undefined) return judgeCut(end, arrivalsMs, times);
  const silenceMs = longestSilence([0, ...arrivalsMs, watchedMs]);
  if (silenceMs > times.syncMs + times.syncSlackMs) {
    return finding(
      'sync_missing',
      `nothing came for ${inWords(silenceMs)}, though a sync is sent every ${inWords(times.syncMs)}`,
      'something lets large pieces through and holds small ones back: let it pass on what it gets, at once (nginx: proxy_buffering off; Caddy: flush_interval -1)',
    );
  }
  return finding(
    'stays_open',
    `a quiet stream stayed open for ${inWords(watchedMs)}, never silent for more than ${inWords(silenceMs)}`,
  );
}

/** Whose clock it was: one that began anew with every sync, or one that did not. */
function judgeCut(
  { atMs, why }: { atMs: number; why: string },
  arrivalsMs: readonly number[],
  { syncMs, syncSlackMs }: Times,
): Finding {
  const silentMs = atMs - (arrivalsMs.at(-1) ?? 0);
  // A longer silence than the last one was let pass.
  const wasLonger = longestSilence([0, ...arrivalsMs]) > silentMs;
  const cut = `a quiet stream was cut after ${inWords(atMs)} (${why}), ${inWords(silentMs)} after the last byte`;
  if (silentMs > syncMs + syncSlackMs) {
    return finding(
      'cut_while_idle',
      `${cut}: syncs were held back, and the silence was cut`,
      'let the proxy pass on what it gets, at once (nginx: proxy_buffering off; Caddy: flush_interval -1)',
    );
  }
  if (atMs > syncMs || wasLonger) {
    return finding(
      'cut_while_idle',
      `${cut}: a limit on how long an answer takes, or on the reader's own silence, for the gateway had just spoken`,
      'raise it for /sessions/…/stream to an hour or more: HAProxy: timeout client and timeout server; Envoy: the timeout of the route; Caddy: servers { timeouts { write 0 } }; load balancers of clouds: the timeout of the backend',
    );
  }
  return finding(
    'cut_while_idle',
    `${cut}: an idle limit below the ${inWords(syncMs)} after which a gateway speaks at the latest`,
    'raise it to a minute or more: nginx: proxy_read_timeout and send_timeout; HAProxy: timeout client and timeout server; load balancers of clouds: idle timeout',
  );
}

const longestSilence = (momentsMs: readonly number[]): number =>
  momentsMs.reduce((longest, atMs, index) => Math.max(longest, atMs - (momentsMs[index - 1] ?? 0)), 0);
