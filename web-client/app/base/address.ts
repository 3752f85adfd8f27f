/** What the page's address says: which session or view, the sequence to open at, and a token that must not stay there (pure). */

export interface Address {
  readonly session?: string;
  /** The sequence to scroll to. */
  readonly at?: number;
  /** Instead of a session: the turns that need a person, or the crash lab. */
  readonly view?: View;
}

const views = ['turns', 'crash'] as const;
export type View = (typeof views)[number];

const sessionGrammar = /^[A-Za-z0-9_-]{1,128}$/;
/** No leading zero, so that one sequence has one address. */
const sequenceGrammar = /^[1-9][0-9]{0,15}$/;

export const isSessionId = (text: string): boolean => sessionGrammar.test(text);

/** Undefined when the text is no sequence. */
export function readSequence(text: string): number | undefined {
  const plain = text.trim().replaceAll(/[,\s]/g, '');
  const value = Number(plain);
  return sequenceGrammar.test(plain) && Number.isSafeInteger(value) ? value : undefined;
}

export function readAddress(search: string): Address {
  const query = new URLSearchParams(search);
  const session = query.get('session') ?? '';
  const at = readSequence(query.get('at') ?? '');
  const view = session === '' ? views.find((one) => one === query.get('view')) : undefined;
  return {
    ...(session === '' ? {} : { session }),
    ...(at === undefined ? {} : { at }),
    ...(view === undefined ? {} : { view }),
  };
}

/** Relative, so that the page works below any path. */
export function writeAddress({ session, at, view }: Address): string {
  const query = new URLSearchParams();
  if (session !== undefined) query.set('session', session);
  if (at !== undefined) query.set('at', String(at));
  if (view !== undefined) query.set('view', view);
  return query.size === 0 ? './' : `?${query.toString()}`;
}

/** The token of `#token=…`. */
export function readTokenHash(hash: string): string | undefined {
  const token = new URLSearchParams(hash.replace(/^#/, '')).get('token')?.trim();
  return token === undefined || token === '' ? undefined : token;
}
