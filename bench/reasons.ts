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
    why: 'the kernel’s queue of connections is accepted in one go, and a request costs 66 µs before it comes to the turnstile (0022)',
  },
  {
    bench: 'reconnect',
    target: '500 sessions: no block',
    why: 'the kernel’s queue of connections is accepted in one go, and a request costs 66 µs before it comes to the turnstile (0022)',
  },
  {
    bench: 'turn-queue',
    target: 'at least as many',
    why: 'a turn tells its session what happens to it: two events, stamped, stored and broadcast; Postgres’s CPU is pg-boss’s, Node’s is twice as much (0020)',
  },
];
