/** The crash lab: a refund whose process is really killed, at a point and without the safeguards that one chooses. */
import { useEffect, useRef, useState } from 'react';
import type { ReactElement } from 'react';
import { Icon } from '../base/icon.tsx';
import { TopBar } from '../conversation/top-bar.tsx';
import type { CrashPlan } from './crash-run.ts';
import { PointChoice } from './point-choice.tsx';
import { toSpokenRun } from './run-words.ts';
import { RunView } from './run-view.tsx';
import { SafeguardSwitches } from './safeguard-switches.tsx';
import { useCrash } from './use-crash.ts';

/** The moment that a retry fears most, with everything in its place. */
const usual: CrashPlan = { point: 'refund_committed', without: [] };

export function CrashPage(): ReactElement {
  const [plan, setPlan] = useState(usual);
  const { run, isBusy, problem, begin } = useCrash();
  const shown = useRef<HTMLElement>(null);
  const isAwaited = useRef(false);
  const id = run?.id;
  // Whoever pressed the button sees what comes of it, on whatever screen.
  useEffect(() => {
    if (id === undefined || !isAwaited.current) return;
    isAwaited.current = false;
    const isCalm = matchMedia('(prefers-reduced-motion: reduce)').matches;
    shown.current?.scrollIntoView({ behavior: isCalm ? 'auto' : 'smooth', block: 'start' });
  }, [id]);
  const press = (): void => {
    isAwaited.current = true;
    begin(plan);
  };
  return (
    <main className="middle is-alone" id="main" tabIndex={-1}>
      <TopBar session={undefined} title="Crash lab">
        <span className="section-note">development only</span>
      </TopBar>
      <div className="stage crash">
        <p className="crash-intro">
          A support agent refunds 40 cents of order 7731, in a process of its own. That process dies by{' '}
          <code>SIGKILL</code> where you say, another one takes its turn over, and the books are laid side by side.
          Processes, kill and rows are real; only the shop is made up.
        </p>
        <div className="crash-plan">
          <PointChoice plan={plan} choose={(point) => setPlan({ ...plan, point })} />
          <div className="crash-side">
            <SafeguardSwitches without={plan.without} change={(without) => setPlan({ ...plan, without })} />
            <button
              type="button"
              className="button primary wide"
              aria-disabled={isBusy}
              onClick={isBusy ? undefined : press}
            >
              <Icon name="crash" />
              {isBusy ? 'Running…' : 'Run'}
            </button>
            {problem !== undefined && (
              <p className="problem" role="alert">
                {problem}
              </p>
            )}
          </div>
        </div>
        <div className="visually-hidden" aria-live="polite">
          {toSpokenRun(run)}
        </div>
        {run === undefined ? (
          <p className="hint">Nothing was run yet.</p>
        ) : (
          <RunView key={run.id} run={run} ref={shown} />
        )}
      </div>
    </main>
  );
}
