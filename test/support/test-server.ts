/** A server that a test owns and may hurt. */

export interface TestServer {
  readonly url: string;
  /** As a crash of the machine would: every process at once. */
  kill(): Promise<void>;
  /** Answers nothing, keeps its connections. */
  freeze(): void;
  thaw(): void;
  stop(): Promise<void>;
  /** On the same port and data; ends it first if it runs. */
  restart(): Promise<void>;
}
