/** The answer that runs beside a request of lines: what is stored, line by line, and a last line that says why it ended. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import type { Clock } from '../base/clock.ts';
import { lineLimits } from '../base/line-limits.ts';
import { limits } from '../base/limits.ts';
import { closeInStages } from './staged-close.ts';

export interface NdjsonAnswer {
  write(line: string): void;
  /** Resolves when what was written is on its way, or nobody is there to take it. */
  taken(): Promise<void>;
  /** The last line. Whoever still sends is read on for a while, so that it is not lost. */
  end(line: string): void;
}

export function openNdjsonAnswer(
  outgoing: ServerResponse,
  headers: Readonly<Record<string, string>>,
  clock: Clock,
): NdjsonAnswer {
  const incoming = outgoing.req;
  const { socket } = incoming;
  outgoing.on('error', () => undefined); // what it announces arrives as `close` as well
  outgoing.writeHead(200, {
    ...headers,
    'Content-Type': 'application/x-ndjson',
    'Cache-Control': 'no-store, no-transform',
    'X-Accel-Buffering': 'no',
  });
  socket.setNoDelay(true);
  // Blank lines keep what lies between awake; the first one brings the headers through it.
  outgoing.write('\n');
  let timer = clock.after(limits.syncMs, keepAwake);
  outgoing.once('close', () => timer.cancel());

  function keepAwake(): void {
    if (!outgoing.writableNeedDrain) outgoing.write('\n');
    timer = clock.after(limits.syncMs, keepAwake);
  }

  return {
    write: (line) => void outgoing.write(`${line}\n`),
    async taken() {
      if (!outgoing.writableNeedDrain || outgoing.destroyed) return;
      const gone = new AbortController();
      const stalled = clock.after(lineLimits.ingressIdleMs, () => socket.destroy());
      await Promise.race([
        once(outgoing, 'drain', { signal: gone.signal }),
        once(outgoing, 'close', { signal: gone.signal }),
      ]);
      stalled.cancel();
      gone.abort();
    },
    end(line) {
      timer.cancel();
      outgoing.end(`${line}\n`);
      if (incoming.complete) return;
      incoming.resume();
      // Without a socket it waits behind another answer, which would be cut off.
      if (outgoing.socket !== null) closeInStages(socket);
    },
  };
}
