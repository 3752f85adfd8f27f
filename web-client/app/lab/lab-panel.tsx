/** The lab of a development server: ways to hurt the stream, each with what will be seen of it. */
import { useCallback, useId, useState } from 'react';
import type { ReactElement } from 'react';
import { writeAddress } from '../base/address.ts';
import { Icon } from '../base/icon.tsx';
import type { IconName } from '../base/icon.tsx';
import { toFollowError, usePoll } from '../base/use-poll.ts';
import { causeFault, pauseHeadCheck, readLab } from './lab-client.ts';
import { headCheck, refusalOf, trials } from './lab-faults.ts';
import type { Situation, Trial } from './lab-faults.ts';

const POLL_MS = 500;

interface LabPanelProps {
  readonly session: string;
  readonly isLive: boolean;
  readonly standing: Situation['session'];
  readonly sever: () => void;
}

const icons: Readonly<Record<Trial, IconName>> = {
  drop_next: 'drop',
  drop_last_of_burst: 'burst',
  sever: 'sever',
  stop_bus: 'pause',
  restart_gateway: 'restart',
};

export function LabPanel({ session, isLive, standing, sever }: LabPanelProps): ReactElement {
  const [problem, setProblem] = useState<string>();
  const { value, error } = usePoll(readLab, POLL_MS);
  const lab = error === undefined ? value : undefined;
  const run = useCallback((work: Promise<unknown>) => {
    setProblem(undefined);
    work.catch((thrown: unknown) => setProblem(toFollowError(thrown).message));
  }, []);
  const attempt = (trial: Trial): void => {
    if (trial === 'sever') sever();
    else run(causeFault(trial, session));
  };
  const refused = error?.code === 'refused' ? error.message : problem;
  return (
    <section className="lab rail-part" aria-labelledby="lab-title">
      <div className="section-head">
        <h2 className="section-title" id="lab-title">
          Try the promise
        </h2>
        <span className="section-note">development only</span>
      </div>
      {trials.map(({ trial, label, effect }) => (
        <TrialButton
          key={trial}
          icon={icons[trial]}
          label={label}
          effect={effect}
          refusal={refusalOf(trial, { lab, isLive, session: standing })}
          run={() => attempt(trial)}
        />
      ))}
      <HeadCheckSwitch isPaused={lab?.isHeadCheckPaused} pause={(isPaused) => run(pauseHeadCheck(isPaused))} />
      <a className="crash-link" href={writeAddress({ view: 'crash' })}>
        Kill the agent amid a refund
        <Icon name="right" />
      </a>
      {refused !== undefined && (
        <p className="problem" role="alert">
          {refused}
        </p>
      )}
    </section>
  );
}

interface TrialButtonProps {
  readonly icon: IconName;
  readonly label: string;
  readonly effect: string;
  readonly refusal: string | undefined;
  readonly run: () => void;
}

function TrialButton({ icon, label, effect, refusal, run }: TrialButtonProps): ReactElement {
  const id = useId();
  return (
    <div className="trial">
      <Icon name={icon} />
      <button
        type="button"
        aria-describedby={id}
        // Not `disabled`, which would take the focus away from whoever just pressed it.
        aria-disabled={refusal !== undefined}
        onClick={refusal === undefined ? run : undefined}
      >
        {label}
      </button>
      <span className="trial-effect" id={id}>
        {refusal ?? effect}
      </span>
    </div>
  );
}

interface HeadCheckSwitchProps {
  /** Undefined: not known. */
  readonly isPaused: boolean | undefined;
  readonly pause: (isPaused: boolean) => void;
}

function HeadCheckSwitch({ isPaused, pause }: HeadCheckSwitchProps): ReactElement {
  const id = useId();
  const isKnown = isPaused !== undefined;
  return (
    <div className="trial">
      <Icon name="pulse" />
      <button
        type="button"
        role="switch"
        aria-checked={isPaused !== true}
        aria-describedby={id}
        aria-disabled={!isKnown}
        onClick={isKnown ? () => pause(!isPaused) : undefined}
      >
        {headCheck.label}
      </button>
      <span className="trial-effect" id={id}>
        {isPaused === true ? headCheck.paused : headCheck.on}
      </span>
      <span className={isPaused === true ? 'switch' : 'switch is-on'} />
    </div>
  );
}
