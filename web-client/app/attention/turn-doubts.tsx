/** The steps of a listed turn that a person must resolve, each with where one does. */
import { useMemo } from 'react';
import type { ReactElement } from 'react';
import { formatInteger } from '../base/format.ts';
import { EffectBadge } from '../work/effect-badge.tsx';
import { ResolveChoice } from '../work/resolve-choice.tsx';
import { resolveIn } from '../work/resolve-step.ts';
import type { Doubt } from './turn-list.ts';

interface TurnDoubtsProps {
  readonly session: string;
  readonly turn: string;
  readonly doubts: readonly Doubt[];
  readonly mayResolve: boolean;
  /** Something was done about it. */
  readonly acted: () => void;
}

export function TurnDoubts({ session, turn, doubts, mayResolve, acted }: TurnDoubtsProps): ReactElement {
  const resolve = useMemo(() => resolveIn(session), [session]);
  return (
    <ul className="turn-doubts" aria-label="Steps in doubt">
      {doubts.map(({ step, tool, effect }) => (
        <li key={step} data-doubt={step}>
          <div className="turn-doubt-head">
            <span>Step {formatInteger(step)}</span>
            <code>{tool}</code>
            <EffectBadge effect={effect} />
          </div>
          {mayResolve && (
            <ResolveChoice
              tool={tool}
              step={step}
              canResume
              resolve={async (verdict, isResumed) => {
                await resolve(turn, step, verdict, isResumed);
                acted();
              }}
            />
          )}
        </li>
      ))}
    </ul>
  );
}
