/** Is the internal listener where producers look for it, and nowhere else (pure)? */
import { isLedgerline, problemOf, said } from './call.ts';
import type { Outcome } from './call.ts';
import { finding } from './finding.ts';
import type { Finding } from './finding.ts';

/** What the public address answers to routes that only the internal listener has, asked without a credential. */
export interface ExposureSeen {
  readonly url: string;
  readonly metrics: Outcome;
  readonly producer: Outcome;
}

export function judgeExposure({ url, metrics, producer }: ExposureSeen): Finding {
  const hasMetrics = metrics.kind === 'answer' && metrics.status === 200 && /^ledgerline_/m.test(metrics.text);
  // On the public listener the route does not exist, whoever asks.
  const hasRoutes = problemOf(producer)?.code === 'unauthorized';
  if (!hasMetrics && !hasRoutes) return finding('internal_hidden', 'the internal routes are not to be had from there');
  return finding(
    'internal_exposed',
    `${url} leads to the internal listener: ${hasMetrics ? '/metrics' : '/internal'} answers there`,
    'let the proxy pass on to the public port alone (8080), and let LEDGERLINE_INTERNAL_HOST be an address that nobody outside reaches',
  );
}

export interface InternalSeen {
  readonly url: string;
  readonly health: Outcome;
  readonly metrics: Outcome;
  /** The list of sessions with the key; undefined where no key is known. */
  readonly keyed: Outcome | undefined;
}

export function judgeInternal({ url, health, metrics, keyed }: InternalSeen): Finding[] {
  if (!isLedgerline(health)) {
    return [
      finding(
        'internal_unreachable',
        `${url} is no internal listener: ${said(health)}`,
        'check LEDGERLINE_INTERNAL_URL; the listener is bound to 127.0.0.1:8081 unless LEDGERLINE_INTERNAL_HOST says otherwise',
      ),
    ];
  }
  return [judgeKey(url, keyed), ...judgeMetrics(metrics)];
}

function judgeKey(url: string, keyed: Outcome | undefined): Finding {
  if (keyed === undefined) {
    return finding('internal_reachable', `${url} is there; without LEDGERLINE_KEY no more can be told of it`);
  }
  if (keyed.kind === 'answer' && keyed.status === 200) return finding('internal_reachable', `${url} takes the key`);
  return finding(
    'key_refused',
    `${url} answers the key with ${said(keyed)}`,
    'LEDGERLINE_KEY must be the LEDGERLINE_INTERNAL_KEY of the gateway; and the address that of its internal listener',
  );
}

/** A minute: until then it may be a restart. */
const STALE_SECONDS = 60;

/** What a gateway counts of the things behind it. */
function judgeMetrics(metrics: Outcome): Finding[] {
  const isBusAway = gauge(metrics, 'ledgerline_bus_away') === 1;
  const staleSeconds = gauge(metrics, 'ledgerline_revocations_stale_seconds') ?? 0;
  return [
    ...(isBusAway
      ? [
          finding(
            'bus_away',
            'the gateway is not connected to NATS, and asks Postgres every 250 ms instead',
            'check NATS and NATS_URL of the gateway',
          ),
        ]
      : []),
    ...(staleSeconds > STALE_SECONDS
      ? [
          finding(
            'revocations_stale',
            `the gateway has not read what was revoked for ${Math.round(staleSeconds)} s`,
            'check Postgres; until then tokens that were revoked meanwhile still hold',
          ),
        ]
      : []),
  ];
}

function gauge(metrics: Outcome, name: string): number | undefined {
  if (metrics.kind === 'none') return undefined;
  const [, value] = new RegExp(`^${name} (\\S+)$`, 'm').exec(metrics.text) ?? [];
  return value === undefined ? undefined : Number(value);
}
