/** Every measurement by name, which is also that of its file in cases/: what it asks, and how long it takes. */

export interface Bench {
  readonly asks: string;
  /** On a quiet machine of two cores, its servers' start and their end included. */
  readonly seconds: { readonly quick: number; readonly full: number };
}

export const benches: Readonly<Record<string, Bench>> = {
  'commit-group': {
    asks: 'appends a second through the ledger, beside the transaction that everybody writes first',
    seconds: { quick: 30, full: 160 },
  },
  'stored-events': {
    asks: 'whether an append costs more when much is stored',
    seconds: { quick: 30, full: 200 },
  },
  'append-http': {
    asks: 'requests a second and CPU of an append over HTTP',
    seconds: { quick: 50, full: 210 },
  },
  'fan-out': {
    asks: 'CPU to bring an event to its readers, server by server',
    seconds: { quick: 110, full: 660 },
  },
  'append-to-reader': {
    asks: 'how old an event is when its reader has it',
    seconds: { quick: 110, full: 770 },
  },
  idle: {
    asks: 'memory of an open stream, and CPU of silent rooms',
    seconds: { quick: 70, full: 170 },
  },
  replay: {
    asks: 'a long history to one reader, and to fifty',
    seconds: { quick: 50, full: 70 },
  },
  reconnect: {
    asks: 'what thousands cost who come back at once',
    seconds: { quick: 70, full: 110 },
  },
  stalled: {
    asks: 'what readers cost that have stopped reading',
    seconds: { quick: 50, full: 100 },
  },
  'turn-queue': {
    asks: 'claiming a turn and ending it, beside queues on Postgres',
    seconds: { quick: 45, full: 140 },
  },
  turns: {
    asks: 'first words of an agent, and turns side by side',
    seconds: { quick: 85, full: 280 },
  },
  steps: {
    asks: 'a transactional tool beside the business transaction alone',
    seconds: { quick: 50, full: 200 },
  },
  deliveries: {
    asks: 'a relay beside plain publishes to JetStream',
    seconds: { quick: 90, full: 350 },
  },
};

export type Pace = keyof Bench['seconds'];

/** The whole of a quick run, on a quiet machine. */
export const QUICK_RUN_SECONDS = 15 * 60;

/** Those that are still to come, by what each is expected to take. */
export const secondsOf = (names: readonly string[], pace: Pace): number =>
  names.reduce((sum, name) => sum + (benches[name]?.seconds[pace] ?? 0), 0);

/** A machine may be slow or busy; past this a measurement hangs. */
export const deadlineMs = (name: string, pace: Pace): number => (secondsOf([name], pace) * 5 + 60) * 1_000;

/** As a person says it: `40 s`, `12 min`. */
export const about = (seconds: number): string =>
  seconds < 90 ? `${Math.round(seconds)} s` : `${Math.round(seconds / 60)} min`;
