/** Listens to a signal that may have been aborted before. */

/** Runs at most once, and now if it is aborted already. Returns how to listen no more. */
export function whenAborted(signal: AbortSignal | undefined, run: () => void): () => void {
  if (signal?.aborted === true) run();
  else signal?.addEventListener('abort', run, { once: true });
  return () => signal?.removeEventListener('abort', run);
}
