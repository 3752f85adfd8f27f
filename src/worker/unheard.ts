/** A promise that an agent need not wait for: if it does not, the end of its attempt is all there is to tell. */
export function unheard<T>(work: Promise<T>): Promise<T> {
  work.catch(() => undefined);
  return work;
}
