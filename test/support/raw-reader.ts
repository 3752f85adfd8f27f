/** A reader that only counts frames, reads as fast or as slowly as it is told, and can stop reading altogether. */
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { onTestFinished } from 'vitest';
import type { RunningGateway } from './gateway.ts';

export interface RawReader {
  /** The sequence of the newest event whose frame has begun. */
  last(): number;
  /** Undefined while every sequence was its predecessor's successor. */
  fault(): string | undefined;
  bytes(): number;
  pause(): void;
  resume(): void;
  close(): void;
}

/** Long enough for `\n\nid: ` and a sequence, cut anywhere. */
const OVERLAP = 32;

export async function rawReader(
  at: Pick<RunningGateway, 'publicUrl' | 'token'>,
  session: string,
  after = 0,
): Promise<RawReader> {
  const response = await open(at, `${session}/stream?after=${after}`);
  onTestFinished(() => void response.destroy());
  let last = after;
  let fault: string | undefined;
  let bytes = 0;
  let rest = '';
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    const text = rest + chunk.toString('latin1');
    // an event's frame begins with its id, every other with its name; a frame holds no empty line
    for (const match of text.matchAll(/\n\nid: (\d+)\n/g)) {
      const sequence = Number(match[1]);
      if (sequence !== last + 1) fault ??= `${sequence} came after ${last}`;
      last = sequence;
    }
    const begun = text.lastIndexOf('\n\nid: ');
    const isWhole = begun < 0 || text.indexOf('\n', begun + 2) >= 0;
    rest = isWhole ? text.slice(Math.max(begun + 2, text.length - 7)) : text.slice(begun);
    if (rest.length > OVERLAP) rest = rest.slice(-OVERLAP);
  });
  response.on('error', () => undefined);
  return {
    last: () => last,
    fault: () => fault,
    bytes: () => bytes,
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    close: () => void response.destroy(),
  };
}

function open(at: Pick<RunningGateway, 'publicUrl' | 'token'>, path: string): Promise<IncomingMessage> {
  return new Promise((resolve, reject) => {
    const url = `${at.publicUrl}/sessions/${path}`;
    const outgoing = get(url, { agent: false, headers: { authorization: `Bearer ${at.token}` } }, resolve);
    outgoing.on('error', reject);
  });
}
