/** Do the clocks agree well enough for tokens, whose times both sides must see alike (pure)? */
import { accessLimits } from '../../base/access-limits.ts';
import { limits } from '../../base/limits.ts';
import type { Outcome } from './call.ts';
import { finding, inWords } from './finding.ts';
import type { Finding } from './finding.ts';

/** How far another clock is ahead of this machine's; negative where it is behind. */
export interface Reading {
  /** The gateway's own; a proxy puts its own `Date` in place of that. */
  readonly isGateways: boolean;
  readonly from: string;
  readonly skewMs: number;
}

/** `Date` has whole seconds, cut off: half of one is added. */
export function readDate(outcome: Outcome, from: string, isGateways: boolean): Reading[] {
  if (outcome.kind === 'none') return [];
  const dateMs = Date.parse(outcome.headers.date ?? '');
  return Number.isNaN(dateMs) ? [] : [{ isGateways, from, skewMs: dateMs + 500 - outcome.wallMs }];
}

/** A ticket ends five minutes after the gateway's now, unless its token does before. */
export function readTicket(outcome: Outcome, tokenEndsMs: number | undefined): Reading[] {
  if (outcome.kind === 'none' || outcome.status !== 201) return [];
  const [, text = ''] = /"expiresAt":"([^"]+)"/.exec(outcome.text) ?? [];
  const endsMs = Date.parse(text);
  const isCutShort = tokenEndsMs !== undefined && endsMs + 1_000 > tokenEndsMs;
  if (Number.isNaN(endsMs) || isCutShort) return [];
  return [
    {
      isGateways: true,
      from: 'a ticket of the gateway',
      skewMs: endsMs + 500 - accessLimits.ticketMs - outcome.wallMs,
    },
  ];
}

const isOff = ({ skewMs }: Reading): boolean => Math.abs(skewMs) > limits.tokenToleranceMs;

/** Whether tokens suffer: by the gateway's own clock where that could be read. */
export function judgeClock(readings: readonly Reading[]): Finding[] {
  const own = readings.filter(({ isGateways }) => isGateways);
  const decisive = own.length > 0 ? own : readings;
  const off = decisive.find(isOff);
  if (off !== undefined) {
    return [
      finding(
        'clock_off',
        `the clock there is ${inWords(Math.abs(off.skewMs))} ${off.skewMs > 0 ? 'ahead of' : 'behind'} this machine's (by ${off.from})`,
        `one of the two is wrong: set it by NTP; tokens bear ${limits.tokenToleranceMs / 1_000} s, others begin too late or are over too early`,
      ),
    ];
  }
  const proxy = readings.find(isOff);
  if (proxy !== undefined) {
    return [
      finding(
        'proxy_clock_off',
        `the gateway's clock agrees with this machine's, and the proxy's is ${inWords(Math.abs(proxy.skewMs))} ${proxy.skewMs > 0 ? 'ahead' : 'behind'}`,
        'set it by NTP; caches and logs go wrong by it, tokens do not',
      ),
    ];
  }
  const most = Math.max(...decisive.map(({ skewMs }) => Math.abs(skewMs)));
  return decisive.length === 0
    ? []
    : [finding('clock_agrees', `the clocks agree within ${inWords(Math.max(most, 1_000))}`)];
}
