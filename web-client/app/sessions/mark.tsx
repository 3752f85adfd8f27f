/** The product's mark: ruled lines, and the one that was missing, filled in. */
import type { ReactElement } from 'react';

export const Mark = (): ReactElement => (
  <svg className="brand-mark" viewBox="0 0 20 20" aria-hidden="true" focusable="false">
    <path className="brand-line" d="M3 5h14M3 15h14M3 10h4M13 10h4" />
    <path className="brand-fill" d="M7 10h6" />
  </svg>
);
