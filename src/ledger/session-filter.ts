/** Which of all sessions a list is made of: what its reader may see. */
export type SessionFilter =
  | { readonly kind: 'all' }
  /** Sessions by id, by the beginning of their id, and those of an owner. */
  | {
      readonly kind: 'some';
      readonly sessions: readonly string[];
      readonly prefixes: readonly string[];
      readonly owner: string | undefined;
    };
