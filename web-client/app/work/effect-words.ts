/** The classes of effects in words, and the states of steps and of deliveries (pure). */
import { formatInteger } from '../base/format.ts';
import type { Delivery } from './delivery-list.ts';
import type { JournalRow } from './journal.ts';

const promises: ReadonlyMap<string, string> = new Map([
  ['read', 'It changes nothing: it may run again.'],
  ['idempotent', 'However often it runs, it ends the same: it may run again.'],
  ['transactional', 'Its effect is in this database, in one transaction with the journal: it happens once.'],
  ['keyed', 'The provider knows the call again by its key, for a time: it happens once.'],
  ['lookup', 'The provider can be asked whether it happened: it happens once.'],
  ['once', 'It promises nothing: it is never run again by itself, and a person tells what became of it.'],
]);

/** What the class promises of the effect; undefined for what is none. */
export const promiseOf = (effect: string): string | undefined => promises.get(effect);

type Tone = 'quiet' | 'busy' | 'done' | 'waiting' | 'failed';

interface Words {
  readonly tone: Tone;
  readonly label: string;
  /** A sentence, where there is more to say. */
  readonly detail?: string;
}

/** `isOver`: nothing more will come. */
export function toStepWords({ state, resolvedBy, foundBy }: JournalRow, isOver: boolean): Words {
  const found = foundBy === undefined ? '' : `found by attempt ${formatInteger(foundBy)}`;
  const said = resolvedBy === undefined ? '' : `resolved by ${resolvedBy}`;
  const detail = [said, found].filter((part) => part !== '').join(', ');
  return { ...toStateWords(state, isOver), ...(detail !== '' && { detail }) };
}

function toStateWords(state: JournalRow['state'], isOver: boolean): Words {
  switch (state) {
    case 'started':
      return isOver ? { tone: 'quiet', label: 'No result' } : { tone: 'busy', label: 'Running' };
    case 'done':
      return { tone: 'done', label: 'Done' };
    case 'failed':
      return { tone: 'failed', label: 'Failed' };
    case 'in_doubt':
      return { tone: 'waiting', label: 'In doubt' };
    case 'not_done':
      return { tone: 'quiet', label: 'Did not happen' };
  }
}

export function toDeliveryWords({ state, applied, attempts, error }: Delivery): Words {
  const reason = error === null ? {} : { detail: error };
  switch (state) {
    case 'waiting':
      return { tone: 'busy', label: 'Waits for a relay' };
    case 'refused':
      return {
        tone: 'waiting',
        label: `Refused ${attempts === 1 ? 'once' : `${formatInteger(attempts)} times`}`,
        ...reason,
      };
    case 'dead':
      return { tone: 'failed', label: 'Given up', ...reason };
    case 'published':
      return applied.length > 0
        ? { tone: 'done', label: 'Published', detail: `applied by ${applied.join(', ')}` }
        : { tone: 'quiet', label: 'Published' };
  }
}
