/** The only writer to standard output (a command's answer), and to standard error for what a person should know. */

export interface Output {
  /** Resolves when the pipe has taken the text. Rejects when it cannot be written, but not because nobody reads any more. */
  print(text: string): Promise<void>;
  note(text: string): void;
  /** Draws a line over the one before; an empty one takes it away. Only where standard error is a terminal. */
  readonly redraw?: (text: string) => void;
  /** The reader has gone (`| head -1`): nothing that is printed arrives anywhere. */
  readonly isClosed: boolean;
}

interface Stream {
  write(text: string, done: (error?: Error | null) => void): boolean;
  on(event: 'error', listener: (error: NodeJS.ErrnoException) => void): unknown;
  readonly isTTY?: boolean;
}

export function createOutput(stdout: Stream = process.stdout, stderr: Stream = process.stderr): Output {
  let isClosed = false;
  // A failed write is told to its callback and as an event; without a listener the event would end the process.
  stdout.on('error', () => undefined);
  stderr.on('error', () => undefined);

  function print(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      if (isClosed) return resolve();
      stdout.write(text, (error: NodeJS.ErrnoException | null | undefined) => {
        if (error === null || error === undefined) return resolve();
        isClosed = true;
        if (error.code === 'EPIPE') resolve();
        else reject(error);
      });
    });
  }

  return {
    print,
    note: (text) => void stderr.write(`${text}\n`, () => undefined),
    // To the line's beginning, and what stood there is erased.
    ...(stderr.isTTY === true && { redraw: (text: string) => void stderr.write(`\r\u001b[K${text}`, () => undefined) }),
    get isClosed() {
      return isClosed;
    },
  };
}
