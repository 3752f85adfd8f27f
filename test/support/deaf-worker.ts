/** A worker that minds no lease: it writes on until it is refused, and then tries to finish all the same. */

export interface DeafWorkerOptions {
  readonly name: string;
  readonly url: string;
  readonly key: string;
  readonly maxAttempts: number;
  /** Pieces of an answer. */
  readonly pieces: number;
  /** Between them. */
  readonly pauseMs: number;
}

/** What it tells of each write: the mark that the write carries, and what it was answered. */
export interface DeafWrite {
  readonly mark: string;
  readonly session: string;
  readonly attempt: number;
  readonly what: 'append' | 'finish';
  /** 0: the answer was lost. */
  readonly status: number;
  readonly code: string;
}

interface Claimed {
  readonly session: string;
  readonly turn: string;
  readonly attempt: number;
}

/** It runs as text, so it uses nothing from around it. */
export async function deafWorker({ name, url, key, maxAttempts, pieces, pauseMs }: DeafWorkerOptions): Promise<void> {
  const still = new Int32Array(new SharedArrayBuffer(4));
  let writes = 0;

  async function post(
    path: string,
    body: object,
  ): Promise<{ status: number; answer: { turns?: Claimed[]; type?: string } }> {
    try {
      const response = await fetch(`${url}/internal/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      return { status: response.status, answer: (await response.json()) as { turns?: Claimed[]; type?: string } };
    } catch {
      return { status: 0, answer: {} };
    }
  }

  async function write({ session, turn, attempt }: Claimed, what: DeafWrite['what']): Promise<boolean> {
    const mark = `${name}-${(writes += 1)}`;
    const { status, answer } =
      what === 'append'
        ? await post(`sessions/${session}/events`, {
            fence: { turn, attempt },
            events: [{ type: 'text.delta', data: { message: turn, text: '.', mark } }],
          })
        : await post(`sessions/${session}/turns/${turn}/finish`, {
            attempt,
            outcome: 'completed',
            events: [{ type: 'message.completed', data: { message: turn, role: 'assistant', mark } }],
          });
    const code = (answer.type ?? '').replace('urn:ledgerline:problem:', '');
    process.stderr.write(`${JSON.stringify({ mark, session, attempt, what, status, code } satisfies DeafWrite)}\n`);
    return status === 200 || status === 201;
  }

  for (;;) {
    const { answer } = await post('turns/claim', { worker: name, limit: 1, waitMs: 1_000, maxAttempts });
    for (const claimed of answer.turns ?? []) {
      for (let piece = 0; piece < pieces; piece += 1) {
        if (!(await write(claimed, 'append'))) break;
        Atomics.wait(still, 0, 0, pauseMs);
      }
      await write(claimed, 'finish');
    }
  }
}
