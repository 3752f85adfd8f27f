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
    why: 'that server waits for the disk with each append, so that this is a figure of the disk: on one whose flush takes longer 7.8, 13 and 18 were seen. Here both are bounded by two cores, which clients and Postgres share (0019)',
  },
  {
    bench: 'fan-out',
    target: '1 × 1,000: at most 1.25 times raw TCP',
    why: 'on a host whose caches others use raw TCP itself costs 8.5 µs a frame instead of 5.3, and a longer way suffers more: 1.13 was seen on a calm one, with more to touch for each visit than now (0021)',
  },
  {
    bench: 'fan-out',
    target: '1 × 1,000: at most a quarter of better-sse',
    why: 'that is below raw TCP: the one system call a frame, which both make, is most of what either costs (0021)',
  },
  {
    bench: 'fan-out',
    target: '1,000 × 1',
    why: 'a room of one reader pays the whole way of an event for one frame, on memory that is cold by the next one; 1.19 was seen on a calm host (0021)',
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
    bench: 'reconnect',
    target: '500 sessions: no block',
    why: 'the longest of five rounds, whose median is below: what one poll brings is heard before the hold on floods knows how long it took (0022)',
  },
  {
    bench: 'stalled',
    target: 'healthy readers',
    why: 'medians of five rounds, which lie further apart than the two sides do',
  },
  {
    bench: 'replay',
    target: 'one reader: at least',
    why: 'the reader, the gateway and Postgres take turns on two cores: the same pages without HTTP and without a reader are not much above it (0022)',
  },
];
