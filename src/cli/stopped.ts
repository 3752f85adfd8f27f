/** Waits until the person or the platform asks the process to stop. */
import { once } from 'node:events';

export async function stopped(signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, 'abort');
}
