/** What the page keeps in this browser, in all of its tabs: the only user of localStorage. */

export type StoredKey = 'token' | 'sessions' | 'theme';

const prefix = 'ledgerline.';
/** Where storage is forbidden (some private modes), the page still works until it is closed; empty anywhere else. */
const memory = new Map<StoredKey, string>();

export function readStored(key: StoredKey): string | undefined {
  try {
    return localStorage.getItem(prefix + key) ?? memory.get(key);
  } catch {
    return memory.get(key);
  }
}

export function writeStored(key: StoredKey, value: string | undefined): void {
  // A copy would outlive what another tab removes, and a signed-out token would go on reading.
  memory.delete(key);
  try {
    if (value === undefined) localStorage.removeItem(prefix + key);
    else localStorage.setItem(prefix + key, value);
  } catch {
    // forbidden or full
    if (value !== undefined) memory.set(key, value);
  }
}

/** Calls back when another tab of this browser changes the key. */
export function onStoredElsewhere(key: StoredKey, listener: () => void): () => void {
  const heard = (event: StorageEvent): void => {
    if (event.key === prefix + key || event.key === null) listener();
  };
  addEventListener('storage', heard);
  return () => removeEventListener('storage', heard);
}
