/** What every server under measurement shows: how it is started, followed and appended to. */

export const needs = ['postgres', 'nats', 'redis', 'nchan', 'packages'] as const;
/** What must run, or be installed, for a peer: `packages` are those of bench/peers/package.json. */
export type Need = (typeof needs)[number];

/** Addresses of what a peer needs; those that it did not ask for are empty. */
export interface Given {
  readonly databaseUrl: string;
  readonly natsUrl: string;
  readonly redisUrl: string;
}

export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Peer {
  /** As reports name it. */
  readonly title: string;
  readonly needs: readonly Need[];
  /** From now on. */
  follow(session: string): HttpRequest;
  /** What makes a session; a peer without it makes them on first use. */
  create?(session: string): HttpRequest;
  /** Absent: `Served.send` is the only way in. `data` is a JSON object as text. */
  append?(session: string, data: string): HttpRequest;
  /** In a process of its own, which ends with the measurement. */
  serve(given: Given): Promise<Served>;
}

export interface Served {
  readonly port: number;
  /** The server's process, where it is not the one that started it. */
  readonly pid?: number;
  /** Hands an event to whoever follows, with the sequence that it has there. */
  send?(session: string, sequence: number, data: string): void;
  /** Writes to readers so far, where they do not all happen within `send`. */
  writes?(): number;
  /** Called in the end by peers that have processes of their own. */
  stop?(): Promise<void>;
}

/** The key of each peer's internal listener that wants one. */
export const benchKey = 'bench-key-of-at-least-thirty-two-characters';
