/** A process of the measurement, asked one thing at a time over its channel. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import type { ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export type Answer = { readonly value: unknown } | { readonly error: string };

export class Child<Request> {
  readonly #process: ChildProcess;
  #line: Promise<unknown> = Promise.resolve();

  private constructor(process: ChildProcess) {
    this.#process = process;
  }

  /** `file` is relative to this folder; what it says first is that it is ready. */
  static async start<Request>(file: string, ...args: string[]): Promise<Child<Request>> {
    const process_ = fork(fileURLToPath(new URL(file, import.meta.url)), args, {
      execArgv: [...process.execArgv, '--expose-gc'],
    });
    const child = new Child<Request>(process_);
    await child.#answer<string>(file);
    return child;
  }

  /** Questions wait in a line; rejects with what the process threw, or when it ended. */
  ask<T>(request: Request): Promise<T> {
    const asked = this.#line.then(() => {
      const answered = this.#answer<T>(JSON.stringify(request).slice(0, 80));
      this.#process.send(request as object);
      return answered;
    });
    this.#line = asked.catch(() => undefined);
    return asked;
  }

  end(): void {
    if (this.#process.connected) this.#process.disconnect();
  }

  async #answer<T>(what: string): Promise<T> {
    const ended = new AbortController();
    const exit = once(this.#process, 'exit', { signal: ended.signal }).then(() => {
      throw new Error(`the process ended: ${what}`);
    });
    try {
      const [answer] = (await Promise.race([once(this.#process, 'message', { signal: ended.signal }), exit])) as [
        Answer,
      ];
      if ('error' in answer) throw new Error(answer.error);
      return answer.value as T;
    } finally {
      exit.catch(() => undefined);
      ended.abort();
    }
  }
}
