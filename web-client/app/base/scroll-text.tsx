/** Preformatted text that scrolls, for the keyboard too. */
import type { ReactElement, ReactNode } from 'react';

export const ScrollText = ({ children }: { readonly children: ReactNode }): ReactElement => (
  // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- else nobody without a pointer could scroll it
  <pre className="scroll-text" tabIndex={0}>
    {children}
  </pre>
);
