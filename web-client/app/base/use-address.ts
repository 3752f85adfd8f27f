/** The page's address as state: what the browser's back and forward change, and what the page changes. */
import { useCallback, useEffect, useState } from 'react';
import { readAddress, writeAddress } from './address.ts';
import type { Address } from './address.ts';

export interface UsedAddress {
  readonly address: Address;
  /** A new entry of the history: another session. */
  readonly push: (address: Address) => void;
  /** The same entry: another place in the same session. */
  readonly replace: (address: Address) => void;
}

export function useAddress(): UsedAddress {
  const [address, setAddress] = useState(() => readAddress(location.search));
  useEffect(() => {
    const moved = (): void => setAddress(readAddress(location.search));
    addEventListener('popstate', moved);
    return () => removeEventListener('popstate', moved);
  }, []);
  const push = useCallback((next: Address) => {
    history.pushState(null, '', writeAddress(next));
    setAddress(next);
  }, []);
  const replace = useCallback((next: Address) => {
    history.replaceState(history.state, '', writeAddress(next));
    setAddress(next);
  }, []);
  return { address, push, replace };
}
