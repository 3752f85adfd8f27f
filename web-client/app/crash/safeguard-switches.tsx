/** The safeguards, each to be taken away and to be given back. */
import { useId } from 'react';
import type { ReactElement } from 'react';
import { Icon } from '../base/icon.tsx';
import type { IconName } from '../base/icon.tsx';
import { safeguards } from './crash-run.ts';
import type { Safeguard } from './crash-run.ts';
import { safeguardWords } from './plan-words.ts';

interface SafeguardSwitchesProps {
  readonly without: readonly Safeguard[];
  readonly change: (without: readonly Safeguard[]) => void;
}

const icons: Readonly<Record<Safeguard, IconName>> = { transaction: 'ledger', step_key: 'key', inbox: 'inbox' };

export function SafeguardSwitches({ without, change }: SafeguardSwitchesProps): ReactElement {
  const id = useId();
  /** In their own order, whatever the order in which they were switched. */
  const toggle = (switched: Safeguard): void =>
    change(safeguards.filter((safeguard) => without.includes(safeguard) !== (safeguard === switched)));
  return (
    <section className="crash-safeguards" aria-labelledby={`${id}-title`}>
      <h2 className="section-title" id={`${id}-title`}>
        Safeguards
      </h2>
      {safeguards.map((safeguard) => {
        const { label, purpose } = safeguardWords[safeguard];
        const isOn = !without.includes(safeguard);
        return (
          <div key={safeguard} className="trial">
            <Icon name={icons[safeguard]} />
            <button
              type="button"
              role="switch"
              aria-checked={isOn}
              aria-describedby={`${id}-${safeguard}`}
              onClick={() => toggle(safeguard)}
            >
              {label}
            </button>
            <span className="trial-effect" id={`${id}-${safeguard}`}>
              {purpose}
            </span>
            <span className={isOn ? 'switch is-on' : 'switch'} />
          </div>
        );
      })}
    </section>
  );
}
