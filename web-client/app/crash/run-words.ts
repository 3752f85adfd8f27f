/** How far a run has come, for the eye and for the ear (pure). */
import { formatInteger } from '../base/format.ts';
import type { CrashNote, CrashRun } from './crash-run.ts';
import { toVerdictWords } from './verdict-words.ts';

/** One text for each state, so that nobody is read every note. */
export function toStateWords({ state, point }: CrashRun): string {
  switch (state) {
    case 'preparing':
      return 'A database is made, and a customer asks for the refund.';
    case 'running':
      return point === 'nowhere' ? 'The agent is at work.' : 'The agent is at work, until it dies.';
    case 'resuming':
      return 'The process is dead. Another one takes its turn over.';
    case 'over':
      return 'It is over.';
    case 'failed':
      return 'It could not be carried out. That is a failure of the lab, and no finding.';
  }
}

export function toSpokenRun(run: CrashRun | undefined): string {
  if (run === undefined) return '';
  const verdict = toVerdictWords(run);
  return verdict === undefined ? toStateWords(run) : `${verdict.finding} ${verdict.story} ${verdict.lesson}`;
}

/** What the books show that are not of the moment of the crash. */
export function toAfterWords({ state, point }: CrashRun): string {
  if (state !== 'over') return 'So far';
  return point === 'nowhere' ? 'At the end' : 'After the resume';
}

/** `1 at the crash, 2 after the resume`. */
export function toModelCallWords(run: CrashRun): string {
  const { before, after } = run;
  const [first = '', ...rest] = toAfterWords(run);
  return [
    ...(before === undefined ? [] : [`${formatInteger(before.modelCalls)} at the crash`]),
    ...(after === undefined ? [] : [`${formatInteger(after.modelCalls)} ${first.toLowerCase()}${rest.join('')}`]),
  ].join(', ');
}

/** Since the first note of the run: `1.24 s`. */
export function toNoteTime({ at }: CrashNote, first: CrashNote): string {
  const ms = Date.parse(at) - Date.parse(first.at);
  return Number.isNaN(ms) ? at : `${(ms / 1_000).toFixed(2)} s`;
}
