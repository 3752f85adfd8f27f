/** What a message does that is sent while the agent is busy. */
import { useId } from 'react';
import type { ReactElement } from 'react';

export type OnBusy = 'enqueue' | 'interrupt' | 'steer';

const choices: readonly { readonly value: OnBusy; readonly label: string; readonly title: string }[] = [
  { value: 'enqueue', label: 'Queue', title: 'It waits for the next turn' },
  { value: 'interrupt', label: 'Interrupt', title: 'The turn is stopped, and the next one begins with it' },
  { value: 'steer', label: 'Steer', title: 'It joins the turn that runs, if the agent asks for it; else the next one' },
];

interface BusyChoiceProps {
  readonly onBusy: OnBusy;
  readonly choose: (onBusy: OnBusy) => void;
}

export function BusyChoice({ onBusy, choose }: BusyChoiceProps): ReactElement {
  const name = useId();
  return (
    <fieldset className="choice">
      <legend className="visually-hidden">The agent is busy. What the message does</legend>
      {choices.map(({ value, label, title }) => (
        <label key={value} title={title}>
          <input type="radio" name={name} value={value} checked={value === onBusy} onChange={() => choose(value)} />
          <span>{label}</span>
        </label>
      ))}
    </fieldset>
  );
}
