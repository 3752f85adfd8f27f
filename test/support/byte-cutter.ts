/** A wire to a gateway on which a producer's streams of events are cut, each behind the very byte that the test names. */
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

/** Behind so many bytes of the request, its head included, or from the beginning of a line on. */
export interface Cut {
  readonly line?: string;
  readonly bytes: number;
}

export interface ByteCutter {
  readonly url: string;
  /** Each of the session's next streams has one of these cuts; those behind the last have none. */
  plan(session: string, cuts: readonly Cut[]): void;
  /** Cuts that did not come to pass. */
  left(): number;
  /** How long the head of the first stream was, with all that stands before its first line. */
  headBytes(): number;
  stop(): Promise<void>;
}

const REQUEST = /^(?:GET|POST) \//;
const STREAM = /^POST \/internal\/sessions\/([^/]+)\/events\?/;

export async function startByteCutter(target: string): Promise<ByteCutter> {
  const { hostname, port } = new URL(target);
  const plans = new Map<string, Cut[]>();
  const sockets = new Set<Socket>();
  let headBytes = 0;

  const server = createServer((client) => {
    const gateway = connect(Number(port), hostname);
    for (const socket of [client, gateway]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => undefined); // a cut is what this is for
      socket.on('close', () => sockets.delete(socket));
    }
    const request = followRequest(plans);
    client.on('data', (bytes: Buffer) => {
      const { pass, isCut, text } = request(bytes.toString('latin1'));
      headBytes ||= Math.max(0, text.indexOf('{'));
      gateway.write(pass, 'latin1', () => {
        if (isCut) gateway.destroy();
      });
      if (isCut) client.destroy();
    });
    gateway.on('data', (bytes: Buffer) => client.write(bytes));
    gateway.on('close', () => client.destroy());
    client.on('close', () => gateway.destroySoon());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    plan: (session, cuts) => void plans.set(session, [...cuts]),
    left: () => [...plans.values()].reduce((sum, cuts) => sum + cuts.length, 0),
    headBytes: () => headBytes,
    async stop() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Piece {
  /** To the gateway. */
  readonly pass: string;
  readonly isCut: boolean;
  /** Of the stream, so far. */
  readonly text: string;
}

/** What of each piece of one connection goes on its way. */
function followRequest(plans: ReadonlyMap<string, Cut[]>): (piece: string) => Piece {
  let cuts: Cut[] | undefined;
  let text = '';
  let passed = 0;
  return (piece) => {
    // A connection is kept for the next request, of whichever session.
    if (REQUEST.test(piece)) [cuts, text, passed] = [plans.get(STREAM.exec(piece)?.[1] ?? ''), '', 0];
    text += piece;
    const [cut] = cuts ?? [];
    const from = cut?.line === undefined ? 0 : text.indexOf(cut.line);
    const isCut = cut !== undefined && from >= 0 && text.length >= from + cut.bytes;
    // A line is passed on with its end, so that it is not half gone when it turns out to be the one.
    const whole = from < 0 ? text.lastIndexOf('\n') + 1 : text.length;
    const until = isCut ? from + cut.bytes : whole;
    const pass = text.slice(passed, until);
    passed = until;
    if (isCut) cuts?.shift();
    return { pass, isCut, text };
  };
}
