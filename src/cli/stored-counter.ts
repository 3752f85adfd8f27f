/** Where a producer of this name stopped in an earlier life. */
import { z } from 'zod';
import { request, understood } from './client.ts';
import type { Target } from './client.ts';

const counterShape = z.object({ counter: z.int().min(0) });

/** The counter of its last stored event; 0 before the first, and for a producer without a name of its own. */
export async function storedCounter(
  target: Target,
  session: string,
  producer: string | undefined,
  stop: AbortSignal,
): Promise<number> {
  if (producer === undefined) return 0;
  const path = `/internal/sessions/${session}/producers/${encodeURIComponent(producer)}`;
  const answer = await request(target, { method: 'GET', path, stop });
  return understood(counterShape, answer, target.url + path).counter;
}
