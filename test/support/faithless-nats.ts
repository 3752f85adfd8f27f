/** A wire to NATS that loses, repeats and shuffles the messages on their way to one gateway. */
import { startTcpProxy } from './tcp-proxy.ts';
import type { TcpProxy } from './tcp-proxy.ts';

/** What happens to messages from now on; `shuffle` says each three times, a handful of them mixed up together. */
export type Treatment = 'deliver' | 'drop' | 'triple' | 'shuffle';

export interface FaithlessNats extends TcpProxy {
  readonly url: string;
  /** Messages that met a treatment other than `deliver`. */
  readonly mistreated: number;
  treat(treatment: Treatment): void;
}

const HANDFUL = 24;

export async function startFaithlessNats(natsUrl: string): Promise<FaithlessNats> {
  let treatment: Treatment = 'deliver';
  let mistreated = 0;
  const random = sequenceOfChance();

  function rewrite(say: (bytes: Buffer) => void): (chunk: Buffer) => void {
    let rest = Buffer.alloc(0);
    let held: Buffer[] = [];
    const meet = (message: Buffer): void => {
      if (treatment === 'deliver') return say(message);
      mistreated += 1;
      if (treatment === 'drop') return;
      if (treatment === 'triple') return say(Buffer.concat([message, message, message]));
      held.push(message, message, message);
      if (held.length < HANDFUL) return;
      say(Buffer.concat(shuffled(held, random)));
      held = [];
    };
    return (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const part = takePart(rest);
        if (part === undefined) return;
        rest = rest.subarray(part.bytes.length);
        if (part.isMessage) meet(part.bytes);
        else say(part.bytes);
      }
    };
  }

  const proxy = await startTcpProxy({ port: Number(new URL(natsUrl).port), rewrite });
  return {
    ...proxy,
    get connections() {
      return proxy.connections;
    },
    url: `nats://127.0.0.1:${proxy.port}`,
    get mistreated() {
      return mistreated;
    },
    treat: (next) => void (treatment = next),
  };
}

/** The next whole line of the protocol, or the message with its payload: `MSG subject sid [reply] bytes`. */
function takePart(bytes: Buffer): { bytes: Buffer; isMessage: boolean } | undefined {
  const lineEnd = bytes.indexOf('\r\n');
  if (lineEnd < 0) return undefined;
  const line = bytes.toString('latin1', 0, lineEnd);
  if (!/^H?MSG /.test(line)) return { bytes: bytes.subarray(0, lineEnd + 2), isMessage: false };
  const end = lineEnd + 2 + Number(line.slice(line.lastIndexOf(' ') + 1)) + 2;
  return bytes.length < end ? undefined : { bytes: bytes.subarray(0, end), isMessage: true };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const mixed = [...items];
  for (let index = mixed.length - 1; index > 0; index--) {
    const other = Math.floor(random() * (index + 1));
    [mixed[index], mixed[other]] = [mixed[other] as T, mixed[index] as T];
  }
  return mixed;
}

/** The same in every run, so that a failure comes again. */
function sequenceOfChance(): () => number {
  let state = 20_261_130;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
