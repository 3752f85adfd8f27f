/** The operators' view: what needs a person, or all that is under way, with what can be done about each. */
import { useState } from 'react';
import type { ReactElement } from 'react';
import { hasScope, tokenOrNothing } from '../access/token.ts';
import { useNow } from '../base/use-now.ts';
import type { UsedPoll } from '../base/use-poll.ts';
import { TopBar } from '../conversation/top-bar.tsx';
import type { ListedTurn, Which } from './turn-list.ts';
import { TurnRow } from './turn-row.tsx';
import { useTurns } from './use-turns.ts';

interface AttentionPageProps {
  /** Asked for all the time, for the badge. */
  readonly attention: UsedPoll<readonly ListedTurn[]>;
  readonly open: (session: string) => void;
  /** Something was done about a turn. */
  readonly acted: () => void;
}

const AGE_MS = 15_000;
const choices: readonly { readonly which: Which; readonly label: string }[] = [
  { which: 'attention', label: 'Needs attention' },
  { which: 'active', label: 'Under way' },
];
const nothing: Readonly<Record<Which, string>> = {
  attention: 'Nothing needs a person: no turn has failed or is in doubt, and none waits for a decision.',
  active: 'No agent has anything to do.',
};

export function AttentionPage({ attention, open, acted }: AttentionPageProps): ReactElement {
  const [which, setWhich] = useState<Which>('attention');
  const active = useTurns(which === 'active' ? 'active' : undefined);
  const { value: turns, error, refresh } = which === 'active' ? active : attention;
  const nowMs = useNow(true, AGE_MS);
  const token = tokenOrNothing();
  const may = { send: hasScope(token, 'send'), write: hasScope(token, 'write') };
  return (
    <main className="middle is-alone" id="main" tabIndex={-1}>
      <TopBar session={undefined} title="Needs attention">
        <fieldset className="choice">
          <legend className="visually-hidden">Which turns</legend>
          {choices.map((choice) => (
            <button
              key={choice.which}
              type="button"
              aria-pressed={choice.which === which}
              onClick={() => setWhich(choice.which)}
            >
              {choice.label}
            </button>
          ))}
        </fieldset>
      </TopBar>
      <div className="stage attention" data-which={which}>
        {error !== undefined && (
          <p className="problem" role="alert">
            The turns cannot be read: {error.message}
          </p>
        )}
        {turns?.length === 0 && <p className="attention-nothing">{nothing[which]}</p>}
        <ul className="turn-list" aria-label={choices.find((choice) => choice.which === which)?.label}>
          {turns?.map((listed) => (
            <TurnRow
              key={`${listed.session} ${listed.turn ?? ''}`}
              listed={listed}
              may={may}
              nowMs={nowMs}
              open={open}
              acted={() => {
                refresh();
                acted();
              }}
            />
          ))}
        </ul>
      </div>
    </main>
  );
}
