/** A NATS server of few words, to say what a real one says only in trouble. */
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface ScriptedNats {
  readonly url: string;
  /** Lines of the protocol that clients sent, PUB and its payload as lines of their own. */
  readonly lines: readonly string[];
  readonly connections: number;
  /** Answers to PING wait while this is false; with `first`, a connection gets the one that completes its handshake. */
  answersPings: boolean | 'first';
  /** To every client. */
  say(line: string): void;
  hangUp(): void;
  stop(): Promise<void>;
}

export interface Script {
  readonly maxPayload?: number;
  /** Takes connections and says nothing. */
  readonly isSilent?: boolean;
}

export async function scriptedNats({ maxPayload = 1_048_576, isSilent = false }: Script = {}): Promise<ScriptedNats> {
  const sockets = new Set<Socket>();
  const lines: string[] = [];
  const info = { server_id: 'test', version: '2.9.10', proto: 1, max_payload: maxPayload, headers: true };
  let answersPings: boolean | 'first' = true;
  let unanswered: (() => void)[] = [];

  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined); // a client that is killed resets its connection
    socket.on('close', () => sockets.delete(socket));
    if (isSilent) return void socket.resume();
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    let rest = '';
    let pings = 0;
    socket.on('data', (bytes) => {
      const received = (rest + bytes.toString('latin1')).split('\r\n');
      rest = received.pop() ?? '';
      for (const line of received) {
        lines.push(line);
        const pong = () => void socket.write('PONG\r\n');
        if (line !== 'PING') continue;
        pings += 1;
        if (answersPings === true || (answersPings === 'first' && pings === 1)) pong();
        else unanswered.push(pong);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');

  return {
    url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lines,
    get connections() {
      return sockets.size;
    },
    get answersPings() {
      return answersPings;
    },
    set answersPings(value) {
      answersPings = value;
      for (const pong of value === true ? unanswered.splice(0) : []) pong();
    },
    say(line) {
      for (const socket of sockets) socket.write(`${line}\r\n`);
    },
    hangUp() {
      for (const socket of sockets) socket.destroy();
    },
    async stop() {
      unanswered = [];
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
