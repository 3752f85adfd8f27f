/** A text, with what is searched for marked in it. Its text content is the text, to the last character. */
import type { ReactElement } from 'react';
import { cutAtMatches } from '../search/search.ts';
import { useReading } from './reading.ts';

export function MarkedText({ text }: { readonly text: string }): ReactElement {
  const { pattern } = useReading();
  if (pattern === undefined) return <>{text}</>;
  return (
    <>
      {cutAtMatches(text, pattern).map((piece) =>
        piece.isMatch ? <mark key={piece.offset}>{piece.text}</mark> : piece.text,
      )}
    </>
  );
}
