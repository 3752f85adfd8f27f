/** An event of the application's own: its type and its JSON in a line. */
import type { ReactElement } from 'react';
import type { OtherItem as Other } from '../../src/timeline-item.ts';
import { Fold } from './fold.tsx';
import { JsonBlock } from './json-block.tsx';
import { toJsonLine } from './json-line.ts';
import { MarkedText } from './marked-text.tsx';
import { useMatches } from './use-matches.ts';

export function OtherItem({ item }: { readonly item: Other }): ReactElement {
  const isMatch = useMatches(item);
  return (
    <Fold
      className="other"
      opensItself={isMatch}
      summary={
        <>
          <code className="fold-name">
            <MarkedText text={item.type} />
          </code>
          <code className="fold-line">{toJsonLine(item.data)}</code>
        </>
      }
    >
      {() => <JsonBlock label={item.type} value={item.data} />}
    </Fold>
  );
}
