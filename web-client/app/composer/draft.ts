/** What is being written to a session: kept in this browser until it is sent, through reloads too. */
import { useCallback, useState } from 'react';
import { forgetStored, readStored, writeStored } from '../base/stored.ts';

/** A session that changes is another component: give it a key. */
export function useDraft(session: string): readonly [string, (text: string) => void] {
  const [text, setText] = useState(() => readStored(`draft.${session}`) ?? '');
  const change = useCallback(
    (next: string) => {
      writeStored(`draft.${session}`, next === '' ? undefined : next);
      setText(next);
    },
    [session],
  );
  return [text, change];
}

/** What one person has begun is not for the next one in this browser. */
export const forgetDrafts = (): void => forgetStored('draft.');
