/** The token of this browser: taken out of the address at once, kept for the tabs to come. */
import { readTokenHash } from '../base/address.ts';
import { readStored, writeStored } from '../base/stored.ts';

/** An address is copied and logged: the token leaves it before anything else happens. */
export function takeTokenFromAddress(): void {
  const token = readTokenHash(location.hash);
  if (token === undefined) return;
  writeStored('token', token);
  history.replaceState(history.state, '', location.pathname + location.search);
}

export const readToken = (): string | undefined => readStored('token');

/** Also what a follower asks for a new one: it is refused for good when the same one comes back. */
export const tokenOrNothing = (): string => readToken() ?? '';

/** People paste the header's whole value, or quotes around it. */
export const cleanToken = (pasted: string): string =>
  pasted
    .trim()
    .replace(/^["']|["']$/g, '')
    .replace(/^Bearer\s+/i, '')
    .trim();

export const keepToken = (token: string): void => writeStored('token', token);
export const forgetToken = (): void => writeStored('token', undefined);
