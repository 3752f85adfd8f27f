/** The way of the refund as a line of points: what is behind the chosen one has happened when the process dies there. */
import { useId } from 'react';
import type { ReactElement } from 'react';
import { points } from './crash-run.ts';
import type { CrashPlan, CrashPoint } from './crash-run.ts';
import { toPointWords } from './plan-words.ts';

interface PointChoiceProps {
  readonly plan: CrashPlan;
  readonly choose: (point: CrashPoint) => void;
}

export function PointChoice({ plan: { point: chosen, without }, choose }: PointChoiceProps): ReactElement {
  const id = useId();
  const place = points.indexOf(chosen);
  return (
    <fieldset className="crash-points">
      <legend className="section-title">Where the process dies</legend>
      {points.map((point, index) => {
        const { label, truth } = toPointWords(point, without);
        const standing = index < place ? 'is-passed' : index === place ? 'is-chosen' : 'is-ahead';
        return (
          <div key={point} className={`crash-point ${standing}`}>
            <input
              type="radio"
              id={`${id}-${point}`}
              name={id}
              value={point}
              checked={point === chosen}
              aria-describedby={`${id}-${point}-truth`}
              onChange={() => choose(point)}
            />
            <div className="crash-point-head">
              <label htmlFor={`${id}-${point}`}>{label}</label>
              {point === chosen && (
                <span className="crash-here" aria-hidden="true">
                  {point === 'nowhere' ? 'lives' : 'dies here'}
                </span>
              )}
            </div>
            <p className="crash-truth" id={`${id}-${point}-truth`}>
              {truth}
            </p>
          </div>
        );
      })}
    </fieldset>
  );
}
