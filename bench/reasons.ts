/** Why a target is missed, in a person's words; said in docs/PERFORMANCE.md as long as it is missed. */

export interface Reason {
  readonly bench: string;
  /** How the target's sentence begins. */
  readonly target: string;
  readonly why: string;
}

export const reasons: readonly Reason[] = [
  {
    bench: 'append-http',
    target: 'CPU a request',
    why: 'bare `node:http` that reads the body and answers in JSON is at the empty POST already; what comes on top is checking, storing and telling (0019)',
  },
  {
    bench: 'append-http',
    target: 'requests/s',
    why: 'the gateway leaves half of a core: it waits for Postgres’s flush, on two cores that the client shares (0019)',
  },
  {
    bench: 'fan-out',
    target: '1 × 1,000: at most a quarter of better-sse',
    why: 'that is below raw TCP: the one system call a frame, which both make, is most of what either costs (0021)',
  },
  {
    bench: 'append-to-reader',
    target: '1 readers: p50',
    why: 'an event is durable before anybody has it, and a commit takes longer than a server in memory takes for all of it',
  },
  {
    bench: 'append-to-reader',
    target: '1 readers: p99',
    why: 'an event is durable before anybody has it, and a commit takes longer than a server in memory takes for all of it',
  },
  {
    bench: 'append-to-reader',
    target: '1,000 readers: p50',
    why: 'what is told goes through NATS, so that a gateway’s own readers have it in the order of everybody’s (0021)',
  },
  {
    bench: 'reconnect',
    target: '1 sessions: no block',
    why: 'seen before the first turnstile stood in the listener and floods were held: one poll brought up to 1,024 requests, at 66 µs each before they came to one (0022)',
  },
  {
    bench: 'reconnect',
    target: '500 sessions: no block',
    why: 'seen before the first turnstile stood in the listener and floods were held: one poll brought up to 1,024 requests, at 66 µs each before they came to one (0022)',
  },
  {
    bench: 'turn-queue',
    target: 'at least as many',
    why: 'seen with migration 10, a statement for each turn; what is left since turns go by the group is that a turn tells its session of itself: two events, stamped, stored and broadcast (0020)',
  },
];
