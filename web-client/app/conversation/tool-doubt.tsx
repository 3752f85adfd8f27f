/** A call in doubt: that only a person can tell, and where one does. */
import type { ReactElement } from 'react';
import type { ToolItem } from '../../src/timeline-item.ts';
import { ResolveChoice } from '../work/resolve-choice.tsx';
import { useReading } from './reading.ts';

export function ToolDoubt({ item }: { readonly item: ToolItem }): ReactElement {
  const { isOver, resolve } = useReading();
  const { turn, step, tool = 'the tool' } = item;
  return (
    <div className="tool-doubt">
      <p>Nobody but a person can tell whether this happened.</p>
      {resolve !== undefined && turn !== undefined && typeof step === 'number' && (
        <ResolveChoice
          tool={tool}
          step={step}
          canResume={!isOver}
          resolve={(verdict, isResumed) => resolve(turn, step, verdict, isResumed)}
        />
      )}
    </div>
  );
}
