/** Readers of different makes that follow a session through every cut, each resuming in its own way. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { EventSource } from 'eventsource';
import { createParser } from 'eventsource-parser';
import { startCli } from './cli.ts';
import { onPath } from './path-lookup.ts';
import { eventually } from './waits.ts';

export interface Follower {
  readonly make: string;
  /** The sequences of the events that arrived, in the order of their arrival. */
  sequences(): readonly number[];
  /** Why it will get no more: `end` when the stream said so. */
  ended(): string | undefined;
  /** How often it had to come back. */
  reconnects(): number;
  stop(): Promise<void>;
}

export interface Stream {
  readonly publicUrl: string;
  readonly token: string;
  readonly session: string;
  /** A folder for processes to run in. */
  readonly folder: string;
}

const urlOf = ({ publicUrl, session }: Stream): string => `${publicUrl}/sessions/${session}/stream`;

/** A browser's reader, as npm has it. */
export function browserFollower(stream: Stream): Follower {
  const sequences: number[] = [];
  let end: string | undefined;
  let opened = 0;
  const source = new EventSource(urlOf(stream), {
    fetch: (url, init) =>
      fetch(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${stream.token}` } }),
  });
  source.addEventListener('open', () => (opened += 1));
  source.addEventListener('message', (event) => sequences.push(Number(event.lastEventId)));
  source.addEventListener('error', (event) => {
    // a session that closed while this reader was away answers 204, and a browser stops
    if (source.readyState === EventSource.CLOSED) end ??= event.code === 204 ? 'end' : `gave up: ${event.message}`;
  });
  source.addEventListener('end', () => {
    end ??= 'end';
    source.close();
  });
  return {
    make: 'eventsource',
    sequences: () => sequences,
    ended: () => end,
    reconnects: () => opened - 1,
    stop: () => Promise.resolve(source.close()),
  };
}

/** The command line. */
export function commandFollower(stream: Stream): Follower {
  const cli = startCli(['tail', stream.session, '--until-end'], {
    folder: stream.folder,
    environment: { LEDGERLINE_URL: stream.publicUrl, LEDGERLINE_TOKEN: stream.token },
  });
  let code: number | undefined;
  const exit = cli.exit.then((value) => (code = value));
  return {
    make: 'ledgerline tail',
    sequences() {
      const text = cli.stdout();
      const lines = text
        .slice(0, text.lastIndexOf('\n') + 1)
        .split('\n')
        .filter(Boolean);
      return lines.map((line) => (JSON.parse(line) as { sequence: number }).sequence);
    },
    ended() {
      if (code === undefined) return undefined;
      return code === 0 ? 'end' : `exit ${code}: ${cli.stderr()}`;
    },
    reconnects: () => cli.stderr().split('going on after').length - 1,
    async stop() {
      cli.signal('SIGKILL');
      await exit;
    },
  };
}

/** One connection of a client that resumes by hand: resolves when it is over, whatever ended it. */
type Visit = (cursor: string | undefined, receive: (text: string) => void, gone: AbortSignal) => Promise<void>;

/** Comes back with the last id it saw, for as long as the stream has not ended. */
function byHand(make: string, visit: Visit): Follower {
  const sequences: number[] = [];
  const stopping = new AbortController();
  let cursor: string | undefined;
  let end: string | undefined;
  let visits = 0;
  const run = async (): Promise<void> => {
    while (end === undefined && !stopping.signal.aborted) {
      const parser = createParser({
        onEvent({ id, event }) {
          cursor = id ?? cursor;
          if (event === undefined) sequences.push(Number(id));
          if (event === 'end') end = 'end';
        },
      });
      visits += 1;
      await visit(cursor, (text) => parser.feed(text), stopping.signal);
    }
  };
  const running = run().catch((error: unknown) => (end = String(error)));
  return {
    make,
    sequences: () => sequences,
    ended: () => end,
    reconnects: () => visits - 1,
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

/** A few lines of Node, as anybody would write them. */
export function plainFollower(stream: Stream): Follower {
  return byHand('node:http', async (cursor, receive, gone) => {
    const answer = async (): Promise<IncomingMessage | 'stopped'> =>
      gone.aborted ? 'stopped' : connect(stream, cursor, gone);
    const response = await eventually('the stream answers', answer, 60_000);
    if (response === 'stopped') return;
    response.setEncoding('utf8').on('data', receive);
    await closed(response);
  });
}

function connect(stream: Stream, cursor: string | undefined, signal: AbortSignal): Promise<IncomingMessage> {
  const headers = {
    authorization: `Bearer ${stream.token}`,
    prefer: 'handling=strict',
    ...(cursor === undefined ? {} : { 'last-event-id': cursor }),
  };
  return new Promise((resolve, reject) => {
    const outgoing = get(urlOf(stream), { agent: false, headers, signal }, (response) => {
      if (response.statusCode === 200) return resolve(response);
      response.resume();
      reject(new Error(`the stream answered ${response.statusCode}`));
    });
    outgoing.on('error', reject);
  });
}

const closed = (response: IncomingMessage): Promise<void> =>
  new Promise((resolve) => {
    response.on('error', () => undefined);
    response.once('close', resolve);
  });

const curlOptions = [
  ...'--silent --no-buffer --fail --retry 10 --retry-delay 1 --retry-connrefused'.split(' '),
  '--header',
  'Prefer: handling=strict',
];

/** curl in a loop, which is how people try a stream out; where there is none, a few lines of Node. */
export function curlFollower(stream: Stream): Follower {
  const curl = onPath('curl');
  if (curl === undefined) return plainFollower(stream);
  return byHand('curl', async (cursor, receive, gone) => {
    const child: ChildProcess = spawn(curl, [
      ...curlOptions,
      '--header',
      `Authorization: Bearer ${stream.token}`,
      ...(cursor === undefined ? [] : ['--header', `Last-Event-ID: ${cursor}`]),
      urlOf(stream),
    ]);
    const kill = (): void => void child.kill('SIGKILL');
    gone.addEventListener('abort', kill, { once: true });
    child.stdout?.setEncoding('utf8').on('data', receive);
    await once(child, 'close');
    gone.removeEventListener('abort', kill);
  });
}
