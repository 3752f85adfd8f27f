/** What a run has shown: the finding, how it came to it, and which safeguard would have held (pure). */
import { formatInteger } from '../base/format.ts';
import type { Books, CrashRun, CrashVerdict } from './crash-run.ts';
import { nameSafeguards } from './plan-words.ts';

export interface VerdictWords {
  readonly tone: 'held' | 'broken';
  readonly finding: string;
  readonly story: string;
  readonly lesson: string;
}

type Broken = Exclude<CrashVerdict, { readonly kind: 'once' }>;
type Words = Omit<VerdictWords, 'tone'>;

/** Undefined while there is no verdict. */
export function toVerdictWords(run: CrashRun): VerdictWords | undefined {
  const { verdict, after } = run;
  if (verdict === undefined || after === undefined) return undefined;
  return verdict.kind === 'once'
    ? { tone: 'held', ...toHeldWords(run) }
    : { tone: 'broken', ...toBrokenWords(verdict, after) };
}

function toHeldWords({ point, without }: CrashRun): Words {
  const lesson =
    without.length === 0
      ? 'Take a safeguard away, and run it again, to see what it is for.'
      : `No refund and no entry hung on ${nameSafeguards(without, 'or')} at this point.`;
  const isKnownAgain = !without.includes('step_key');
  return { finding: 'One refund, one entry.', story: heldStories(isKnownAgain)[point], lesson };
}

const heldStories = (isKnownAgain: boolean): Readonly<Record<CrashRun['point'], string>> => ({
  model_answered:
    'The process died before the answer was journaled; the model was asked and paid again, and nothing else ran twice.',
  model_journaled: isKnownAgain
    ? 'The process died before anything was done; the answer was in the journal, and was not paid for again.'
    : 'The process died before anything was done; the model was asked anew, and the refund made once.',
  refund_written: 'The process died before the commit; Postgres took the row back, and the resume wrote it.',
  refund_committed: 'The process died after the commit; the journal answered, and nothing ran twice.',
  delivery_published:
    'The process died before the outbox knew of the publishing; the delivery was published again, and applied once.',
  entry_committed: 'The process died before the delivery was acknowledged; it came again, and was not applied again.',
  nowhere: 'Nothing died: the model was asked what to do, and for its reply.',
});

function toBrokenWords({ kind, what }: Broken, { refunds, entries }: Books): Words {
  const order = [...refunds, ...entries][0]?.order ?? '7731';
  if (kind === 'lost' && what === 'refund')
    return {
      finding: `No refund of order ${order}.`,
      story: 'The process died between two commits: the journal and the delivery say that it was made.',
      lesson: 'One transaction would have held: nothing would say so, and the resume would have made the refund.',
    };
  if (kind === 'lost')
    return {
      finding: `A refund of order ${order}, and no entry of it.`,
      story: 'The process died between two commits: nobody was told of the refund that there is.',
      lesson: 'One transaction would have held: the refund and what is told of it would be there together.',
    };
  if (what === 'refund')
    return {
      finding: `${countWords(refunds.length)} refunds of order ${order}.`,
      story:
        'Without the step key the resume did not know its steps again: the model was asked anew, and the refund made anew.',
      lesson: 'The step key would have held: the journal would have had the refund under it, and none would be made.',
    };
  if (new Set(entries.map(({ refund }) => refund)).size === 1)
    return {
      finding: `${countWords(entries.length)} entries of one refund.`,
      story: 'The same delivery came twice, and without the inbox it was applied twice.',
      lesson: 'The inbox would have held: it would have known the number of the delivery, and let it pass.',
    };
  return {
    finding: `${countWords(entries.length)} entries, and ${countWords(refunds.length).toLowerCase()} refund.`,
    story: 'The first attempt told of a refund that it never committed, and the second did not know it again.',
    lesson: 'It takes both: by one transaction the first would be there, and by the step key it would be the only one.',
  };
}

const small = ['No', 'One', 'Two', 'Three', 'Four'];
const countWords = (count: number): string => small[count] ?? formatInteger(count);
