/** A part of a row that opens: by itself while it streams or holds a match, else as its reader likes it. */
import { useState } from 'react';
import type { ReactElement, ReactNode } from 'react';
import { Icon } from '../base/icon.tsx';

interface FoldProps {
  readonly className: string;
  readonly summary: ReactNode;
  readonly opensItself: boolean;
  /** Made only when it is open. */
  readonly children: () => ReactNode;
}

export function Fold({ className, summary, opensItself, children }: FoldProps): ReactElement {
  const [choice, setChoice] = useState<boolean>();
  const isOpen = choice ?? opensItself;
  return (
    <details className={`fold ${className}`} open={isOpen}>
      <summary
        onClick={(event) => {
          // React holds the state: a toggle by the browser would be undone by the next token.
          event.preventDefault();
          setChoice(!isOpen);
        }}
      >
        <span className="chevron">
          <Icon name="right" />
        </span>
        {summary}
      </summary>
      {isOpen && <div className="fold-body">{children()}</div>}
    </details>
  );
}
