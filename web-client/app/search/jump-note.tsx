/** How far the way back to a sequence has come, or why it led elsewhere. */
import type { ReactElement } from 'react';
import { formatInteger } from '../base/format.ts';
import type { Jump } from './use-jump.ts';

export function JumpNote({ jump }: { readonly jump: Jump }): ReactElement {
  const { progress, problem, cancel } = jump;
  return (
    <div aria-live="polite">
      {progress !== undefined && (
        <div className="floating note">
          <span>Reading back to {formatInteger(progress.sequence)}</span>
          <progress
            aria-label="Events read"
            {...(progress.wanted > 0 ? { max: progress.wanted, value: progress.loaded } : {})}
          />
          <button type="button" className="button quiet" onClick={cancel}>
            Cancel
          </button>
        </div>
      )}
      {progress === undefined && problem !== undefined && <div className="floating note is-waiting">{problem}</div>}
    </div>
  );
}
