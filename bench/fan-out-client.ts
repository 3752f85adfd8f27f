/** The load of the fan-out bench: many raw connections to one stream, in a process of its own. Counts frames, and the delays of one reader. */
import { connect } from 'node:net';
import type { Socket } from 'node:net';

/** What the bench asks for; the answers go back over the same channel. */
export type ClientRequest =
  | { readonly do: 'open'; readonly port: number; readonly connections: number }
  | { readonly do: 'report' };

export interface ClientReport {
  readonly frames: number;
  readonly delaysMs: readonly number[];
}

const sockets: Socket[] = [];
let frames = 0;
let delaysMs: number[] = [];

const send = (message: unknown): void => void process.send?.(message);

/** Counts the empty lines of one socket, also one that is split between two reads. */
function counter(): (bytes: Buffer) => void {
  let endsInLine = false;
  return (bytes) => {
    if (endsInLine && bytes[0] === 10) frames += 1;
    for (let at = bytes.indexOf('\n\n'); at >= 0; at = bytes.indexOf('\n\n', at + 2)) frames += 1;
    endsInLine = bytes.at(-1) === 10 && bytes.at(-2) !== 10;
  };
}

/** The sender's clock is in each frame; both processes read the machine's one monotonic clock. */
function time(bytes: Buffer): void {
  const nowMs = Number(process.hrtime.bigint()) / 1e6;
  for (const match of bytes.toString('latin1').matchAll(/"sentMs":([0-9.]+)/g)) delaysMs.push(nowMs - Number(match[1]));
}

async function open(port: number, connections: number): Promise<void> {
  for (let index = 0; index < connections; index += 1) {
    const socket = connect(port, '127.0.0.1');
    sockets.push(socket);
    await new Promise<void>((resolve, reject) => {
      socket.once('error', reject).once('data', () => resolve());
      socket.write('GET /stream HTTP/1.1\r\nHost: bench\r\n\r\n');
    });
    socket.on('data', counter());
    if (index === 0) socket.on('data', time);
  }
}

async function answer(request: ClientRequest): Promise<void> {
  if (request.do === 'open') {
    await open(request.port, request.connections);
    return send('opened');
  }
  send({ frames, delaysMs } satisfies ClientReport);
  frames = 0;
  delaysMs = [];
}

process.on('disconnect', () => process.exit());
process.on('message', (request: ClientRequest) => {
  answer(request).catch((error: unknown) => {
    console.error(error);
    process.exitCode = 1;
    process.disconnect();
  });
});
