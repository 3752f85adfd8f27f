/** What the peers use of packages that are installed for a measurement alone: the types are checked without them. */

declare module 'better-sse' {
  import type { IncomingMessage, ServerResponse } from 'node:http';
  interface Session {
    readonly isConnected: boolean;
  }
  interface Channel {
    register(session: Session): this;
    broadcast(data: unknown, eventName: string, options: { readonly eventId: string }): this;
  }
  export function createSession(
    request: IncomingMessage,
    response: ServerResponse,
    options: { readonly serializer: (data: unknown) => string },
  ): Promise<Session>;
  export function createChannel(): Channel;
}

declare module '@durable-streams/server' {
  export class DurableStreamTestServer {
    constructor(options: { readonly port: number; readonly host: string; readonly dataDir?: string });
    start(): Promise<string>;
    stop(): Promise<void>;
  }
}

declare module 'redis' {
  interface Client {
    connect(): Promise<unknown>;
  }
  export function createClient(options: { readonly url: string }): Client;
}

declare module 'resumable-stream/generic' {
  interface Context {
    createNewResumableStream(id: string, make: () => ReadableStream<string>): Promise<ReadableStream<string> | null>;
    resumeExistingStream(id: string): Promise<ReadableStream<string> | null | undefined>;
  }
  export function createResumableStreamContext(options: {
    readonly waitUntil: null;
    readonly subscriber: unknown;
    readonly publisher: unknown;
  }): Context;
}

declare module 'pg-boss' {
  interface Job {
    readonly id: string;
  }
  export default class PgBoss {
    constructor(options: { readonly connectionString: string; readonly max: number; readonly supervise: boolean });
    on(event: 'error', listener: (error: Error) => void): this;
    start(): Promise<this>;
    stop(options: { readonly graceful: boolean }): Promise<void>;
    createQueue(name: string): Promise<void>;
    insert(jobs: readonly { readonly name: string; readonly data: object }[]): Promise<void>;
    fetch(name: string): Promise<readonly Job[]>;
    complete(name: string, id: string): Promise<void>;
  }
}

declare module 'graphile-worker' {
  interface Utils {
    withPgClient<T>(
      work: (client: { query(text: string, values: readonly unknown[]): Promise<unknown> }) => Promise<T>,
    ): Promise<T>;
    migrate(): Promise<void>;
    release(): Promise<void>;
  }
  interface Runner {
    stop(): Promise<void>;
  }
  export function makeWorkerUtils(options: { readonly connectionString: string }): Promise<Utils>;
  export function run(options: {
    readonly connectionString: string;
    readonly concurrency: number;
    readonly maxPoolSize: number;
    readonly noHandleSignals: boolean;
    readonly logger: unknown;
    readonly taskList: Readonly<Record<string, () => Promise<void>>>;
  }): Promise<Runner>;
  export const Logger: new (factory: () => () => void) => object;
}
