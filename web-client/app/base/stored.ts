/** What the page keeps in this browser, in all of its tabs: the only user of localStorage. */

export type StoredKey = 'token' | 'theme' | `draft.${string}`;

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

/** All keys that begin so. */
export function forgetStored(beginning: 'draft.'): void {
  for (const key of memory.keys()) if (key.startsWith(beginning)) memory.delete(key);
  try {
    for (const key of Object.keys(localStorage)) if (key.startsWith(prefix + beginning)) localStorage.removeItem(key);
  } catch {
    // forbidden: there is nothing
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
