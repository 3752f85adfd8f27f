/** Keeps a session's unsent messages over a reload, each in an item of its own, so that two tabs never overwrite each other. */
import type { KeptMessage } from './outgoing.ts';
import { parseJson } from './parse-json.ts';

/** As much of the browser's `Storage` as it takes. */
export type MessageStorage = Pick<Storage, 'getItem' | 'setItem' | 'removeItem' | 'key' | 'length'>;

export interface OutgoingStore {
  /** In the order in which they were written. */
  list(): readonly KeptMessage[];
  put(message: KeptMessage): void;
  remove(key: string): void;
}

/** The browser's, where there is one and it lets itself be used. */
export function browserStorage(): MessageStorage | undefined {
  try {
    return globalThis.localStorage;
  } catch {
    // Blocked, as in a frame of another site: what is unsent lives as long as the page.
    return undefined;
  }
}

/** `name` is the session's and its user's alone. A storage that is full or refused costs the reload, and no message. */
export function createOutgoingStore(name: string, storage: MessageStorage | undefined): OutgoingStore {
  const prefix = `${name}\n`;
  /** What the storage did not take. */
  const own = new Map<string, KeptMessage>();

  function stored(): KeptMessage[] {
    if (storage === undefined) return [];
    try {
      const names = Array.from({ length: storage.length }, (_, place) => storage.key(place) ?? '');
      return names
        .filter((item) => item.startsWith(prefix))
        .map((item) => parseJson(storage.getItem(item) ?? ''))
        .filter(isKept);
    } catch {
      return [];
    }
  }

  return {
    list: () =>
      [...stored().filter(({ key }) => !own.has(key)), ...own.values()].toSorted(
        (one, other) => one.order - other.order || (one.key < other.key ? -1 : 1),
      ),
    put(message) {
      try {
        if (storage === undefined) own.set(message.key, message);
        else storage.setItem(prefix + message.key, JSON.stringify(message));
      } catch {
        own.set(message.key, message);
      }
    },
    remove(key) {
      own.delete(key);
      try {
        storage?.removeItem(prefix + key);
      } catch {
        // Refused, as everything else: so it is not in there.
      }
    },
  };
}

/** Whatever else wrote under this name, another release perhaps, is left alone. */
function isKept(value: unknown): value is KeptMessage {
  if (typeof value !== 'object' || value === null) return false;
  const { key, content, onBusy, at, order } = value as Partial<Record<keyof KeptMessage, unknown>>;
  return (
    typeof key === 'string' &&
    (typeof content === 'string' || Array.isArray(content)) &&
    typeof onBusy === 'string' &&
    typeof at === 'string' &&
    typeof order === 'number'
  );
}
