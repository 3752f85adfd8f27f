/** Where a process can die, and what it can be without, in words (pure). */
import type { CrashPlan, CrashPoint, Safeguard } from './crash-run.ts';

export interface PointWords {
  readonly label: string;
  /** What is true at that moment. */
  readonly truth: string;
  /** The same moment, told of a run. */
  readonly when: string;
}

/** Without the one transaction there are two, and the refund's is the later one: other things are true in between. */
export function toPointWords(point: CrashPoint, without: readonly Safeguard[]): PointWords {
  const isTogether = !without.includes('transaction');
  switch (point) {
    case 'model_answered':
      return {
        label: 'The model has answered',
        truth: 'The answer is paid for, and only this process has it.',
        when: 'died when the model had answered',
      };
    case 'model_journaled':
      return {
        label: 'The answer is journaled',
        truth: 'Postgres knows what is to be done; nothing of it is done.',
        when: 'died when the answer was journaled',
      };
    case 'refund_written':
      return {
        label: 'The refund is written',
        truth: isTogether
          ? 'Its row is in an open transaction, and nobody else can see it.'
          : 'Its row is in an open transaction of its own, beside that of the journal.',
        when: 'died when the refund was written',
      };
    case 'refund_committed':
      return isTogether
        ? {
            label: 'The refund is committed',
            truth: 'Refund, journal and delivery are there; the agent has not heard of it.',
            when: 'died when the refund was committed',
          }
        : {
            label: 'The journal is committed',
            truth: 'Journal and delivery are there; the refund’s own commit is still to come.',
            when: 'died when the journal was committed',
          };
    case 'delivery_published':
      return {
        label: 'The delivery is published',
        truth: 'It is out, and was applied; the outbox does not know of it yet.',
        when: 'died when the delivery was published',
      };
    case 'entry_committed':
      return {
        label: 'The entry is posted',
        truth: 'It is in the books; the delivery is not acknowledged yet.',
        when: 'died when the entry was posted',
      };
    case 'nowhere':
      return {
        label: 'Nowhere',
        truth: 'The process lives: this is what a refund leaves behind when nothing happens.',
        when: 'did not die',
      };
  }
}

export const safeguardWords: Readonly<Record<Safeguard, { readonly label: string; readonly purpose: string }>> = {
  transaction: {
    label: 'One transaction',
    purpose: 'Refund, journal and delivery are committed together, or not at all.',
  },
  step_key: {
    label: 'Step key',
    purpose: 'A step has the same key at every attempt, by which the journal knows it again.',
  },
  inbox: {
    label: 'Inbox',
    purpose: 'Whoever posts the entry remembers which deliveries were applied.',
  },
};

const names: Readonly<Record<Safeguard, string>> = {
  transaction: 'the one transaction',
  step_key: 'the step key',
  inbox: 'the inbox',
};

/** `the step key`, `the one transaction, the step key and the inbox`. */
export function nameSafeguards(safeguards: readonly Safeguard[], conjunction: 'and' | 'or' = 'and'): string {
  const named = safeguards.map((safeguard) => names[safeguard]);
  return [named.slice(0, -1).join(', '), ...named.slice(-1)].filter((part) => part !== '').join(` ${conjunction} `);
}

/** `died when the refund was committed, without the step key`. */
export function toPlanWords({ point, without }: CrashPlan): string {
  const off = without.length === 0 ? 'with every safeguard' : `without ${nameSafeguards(without)}`;
  return `${toPointWords(point, without).when}, ${off}`;
}
