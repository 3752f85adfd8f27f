/** The page's token: taken from the address, kept for all tabs, and gone from all of them when one signs out. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { readStored, writeStored } from '../../../web-client/app/base/stored.ts';
import {
  hasScope,
  onTokenInAddress,
  readToken,
  subjectOf,
  takeTokenFromAddress,
  tokenOf,
} from '../../../web-client/app/access/token.ts';
import { forgetDrafts } from '../../../web-client/app/composer/draft.ts';

/** What a browser gives a page, as far as this is concerned; the tabs share the storage. */
function openTab(storage: Map<string, string>, hash = '') {
  const listeners = new Map<string, () => void>();
  const address = { hash, pathname: '/', search: '?session=demo' };
  const shown: string[] = [];
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => storage.get(key) ?? null,
    setItem: (key: string, value: string) => void storage.set(key, value),
    removeItem: (key: string) => void storage.delete(key),
  });
  vi.stubGlobal('location', address);
  vi.stubGlobal('history', {
    state: null,
    replaceState(_state: unknown, _title: string, url: string) {
      shown.push(url);
      address.hash = '';
    },
  });
  vi.stubGlobal('addEventListener', (name: string, run: () => void) => void listeners.set(name, run));
  vi.stubGlobal('removeEventListener', (name: string) => void listeners.delete(name));
  return { address, shown, listeners };
}

let storage: Map<string, string>;
beforeEach(() => {
  storage = new Map();
});
afterEach(() => {
  writeStored('token', undefined);
  vi.unstubAllGlobals();
});

test('a token leaves the address before anything else', () => {
  const { shown } = openTab(storage, '#token=a.b.c');
  expect(takeTokenFromAddress()).toBe(true);
  expect(shown).toEqual(['/?session=demo']);
  expect(readToken()).toBe('a.b.c');
  expect(takeTokenFromAddress()).toBe(false);
});

test('an address with a token that is pasted into an open page is taken, too', () => {
  const { address, listeners } = openTab(storage);
  const heard = vi.fn<() => void>();
  const stopListening = onTokenInAddress(heard);
  address.hash = '#elsewhere';
  listeners.get('hashchange')?.();
  expect(heard).not.toHaveBeenCalled();
  address.hash = '#token=d.e.f';
  listeners.get('hashchange')?.();
  expect(heard).toHaveBeenCalledOnce();
  expect(readToken()).toBe('d.e.f');
  stopListening();
  expect(listeners.size).toBe(0);
});

test('what another tab signs out is signed out here, where the token was taken', () => {
  openTab(storage, '#token=a.b.c');
  takeTokenFromAddress();
  storage.clear();
  expect(readToken()).toBeUndefined();
});

test('what was being written is forgotten, and nothing else, whether it is stored or held', () => {
  openTab(storage);
  const { localStorage: kept } = globalThis;
  writeStored('draft.s1', 'half a thought');
  writeStored('theme', 'light');
  vi.stubGlobal('localStorage', Object.assign(Object.fromEntries(storage), kept));
  forgetDrafts();
  expect([...storage.keys()]).toEqual(['ledgerline.theme']);
  vi.stubGlobal('localStorage', undefined);
  writeStored('draft.s2', 'another');
  forgetDrafts();
  expect(readStored('draft.s2')).toBeUndefined();
});

test('where storage is forbidden the page keeps what it was given until it is closed', () => {
  openTab(storage);
  vi.stubGlobal('localStorage', undefined);
  writeStored('theme', 'light');
  expect(readStored('theme')).toBe('light');
  writeStored('theme', undefined);
  expect(readStored('theme')).toBeUndefined();
});

const tokenWith = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.y`;

describe('whose a token is', () => {
  test('says its subject, the same for a renewed one', () => {
    expect(subjectOf(tokenWith({ sub: 'maya', jti: '1' }))).toBe('maya');
    expect(subjectOf(tokenWith({ sub: 'maya', jti: '2?>~' }))).toBe('maya');
  });

  test.each(['', 'plain', 'a.%%%.c', tokenWith({}), tokenWith([1])])(
    'is the token itself where it says nothing: %j',
    (token) => {
      expect(subjectOf(token)).toBe(token);
    },
  );

  test('is nobody else’s: who asks for one person’s gets none when another has signed in', () => {
    const [first, renewed, other] = ['ann', 'ann', 'bob'].map((sub, index) => tokenWith({ sub, jti: String(index) }));
    writeStored('token', first);
    const token = tokenOf('ann');
    expect(token()).toBe(first);
    writeStored('token', renewed);
    expect(token()).toBe(renewed);
    writeStored('token', other);
    expect(token()).toBe('');
  });
});

describe('what a token may', () => {
  test('is what its scope says, word by word', () => {
    const token = tokenWith({ scope: 'read rewrite' });
    expect([hasScope(token, 'read'), hasScope(token, 'write'), hasScope(token, 'send')]).toEqual([true, false, false]);
  });

  test('is for the server to say where the token cannot be read', () => {
    expect([hasScope('opaque', 'write'), hasScope(tokenWith({}), 'write'), hasScope('', 'send')]).toEqual([
      true,
      true,
      true,
    ]);
  });
});
