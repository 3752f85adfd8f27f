/** A link to another place of the page: a plain click goes there at once, any other one is the browser's. */
import type { AnchorHTMLAttributes, ReactElement } from 'react';
import { writeAddress } from './address.ts';
import type { Address } from './address.ts';

interface PageLinkProps extends Omit<AnchorHTMLAttributes<HTMLAnchorElement>, 'href' | 'onClick'> {
  readonly to: Address;
  readonly go: () => void;
}

export const PageLink = ({ to, go, children, ...rest }: PageLinkProps): ReactElement => (
  <a
    {...rest}
    href={writeAddress(to)}
    onClick={(event) => {
      if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
      event.preventDefault();
      go();
    }}
  >
    {children}
  </a>
);
