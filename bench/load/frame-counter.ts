/** Counts the events in the bytes of one stream, also one that is split between two reads; whatever the framing is. */
import { machineMs, needle } from '../peers/payload.ts';

const wanted = Buffer.from(needle);

export class FrameCounter {
  frames = 0;
  #rest = Buffer.alloc(0);

  add(bytes: Buffer): void {
    // What a read left unfinished is a few bytes: only the seam is copied.
    const seam = Buffer.concat([this.#rest, bytes.subarray(0, wanted.length - 1)]);
    if (this.#rest.length > 0 && seam.includes(wanted)) this.frames += 1;
    for (let at = bytes.indexOf(wanted); at >= 0; at = bytes.indexOf(wanted, at + wanted.length)) this.frames += 1;
    this.#rest = Buffer.concat([this.#rest, bytes.subarray(1 - wanted.length)]).subarray(1 - wanted.length);
  }
}

const stamp = new RegExp(`${needle}([0-9.]+)`, 'g');

/** How long ago the events in these bytes were made. */
export function agesMs(bytes: Buffer): number[] {
  const now = machineMs();
  return [...bytes.toString('latin1').matchAll(stamp)].map((match) => now - Number(match[1]));
}
