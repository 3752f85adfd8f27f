/** The events that are measured: as wide as a token delta with its envelope, and with the time at which they were made. */
import { eventFrame } from '../../src/sse/frame.ts';
import type { Sequence } from '../../src/event/sequence.ts';

/** Of a whole frame with a sequence of three digits. */
const FRAME_BYTES = 265;
const AT = '2026-11-30T04:00:00.000Z';

/** What a reader looks for: it is once in every event, and a time follows. */
export const needle = '"sentMs":';

/** Processes of a machine read one monotonic clock. */
export const machineMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The data of one event. */
export function stampedData(sentMs = machineMs()): string {
  const start = `{${needle}${sentMs.toFixed(3)},"text":"`;
  return `${start.padEnd(FRAME_BYTES - 100, 'x')}"}`;
}

/** An event as readers get it. */
export const envelopeOf = (sequence: number, data: string): string =>
  `{"sequence":${sequence},"type":"text.delta","at":"${AT}","data":${data}}`;

export const frameOf = (sequence: number, data: string): Buffer =>
  Buffer.from(eventFrame(sequence as Sequence, envelopeOf(sequence, data)));
