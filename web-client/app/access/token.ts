/** The token of this browser: taken out of the address at once, kept for the tabs to come. */
import { readTokenHash } from '../base/address.ts';
import { readStored, writeStored } from '../base/stored.ts';

/** An address is copied and logged: the token leaves it before anything else happens. False when there is none. */
export function takeTokenFromAddress(): boolean {
  const token = readTokenHash(location.hash);
  if (token === undefined) return false;
  writeStored('token', token);
  history.replaceState(history.state, '', location.pathname + location.search);
  return true;
}

/** Calls back when an address with a token is pasted into a page that is open already, which does not load it again. */
export function onTokenInAddress(listener: () => void): () => void {
  const heard = (): void => {
    if (takeTokenFromAddress()) listener();
  };
  addEventListener('hashchange', heard);
  return () => removeEventListener('hashchange', heard);
}

export const readToken = (): string | undefined => readStored('token');

/** Also what a follower asks for a new one: it is refused for good when the same one comes back. */
export const tokenOrNothing = (): string => readToken() ?? '';

/** Whose token it is, so that nobody hears through the tab of another. Only the server knows whether that is true. */
export function subjectOf(token: string): string {
  const { sub } = claimsOf(token);
  return typeof sub === 'string' ? sub : token;
}

/** The token for as long as it is that person's: what one wrote does not go out with the token of another. */
export const tokenOf = (subject: string) => (): string => {
  const token = tokenOrNothing();
  return subjectOf(token) === subject ? token : '';
};

export type Scope = 'read' | 'send' | 'write' | 'create';

/** Whether the token says that it may. One that cannot be read may everything: the server refuses what it may not. */
export function hasScope(token: string, scope: Scope): boolean {
  const { scope: words } = claimsOf(token);
  return typeof words !== 'string' || words.split(' ').includes(scope);
}

function claimsOf(token: string): { readonly sub?: unknown; readonly scope?: unknown } {
  try {
    const payload = (token.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/');
    return Object(JSON.parse(atob(payload))) as object;
  } catch {
    return {};
  }
}

/** People paste the header's whole value, or quotes around it. */
export const cleanToken = (pasted: string): string =>
  pasted
    .trim()
    .replace(/^["']|["']$/g, '')
    .replace(/^Bearer\s+/i, '')
    .trim();

export const keepToken = (token: string): void => writeStored('token', token);
export const forgetToken = (): void => writeStored('token', undefined);
