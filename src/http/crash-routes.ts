/** The crash lab of a development server over HTTP: its newest run, and a new one. */
import { z } from 'zod';
import { crashPoints, safeguards } from '../lab/crash-lab.ts';
import type { CrashLab } from '../lab/crash-lab.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { App } from './context.ts';
import { mountApart } from './dispatch.ts';
import type { Gate } from './door.ts';

export interface CrashOptions {
  readonly crashLab: CrashLab;
  readonly gate: Gate;
  readonly readJsonBody: ReadJsonBody;
}

const planShape = z.strictObject({
  point: z.enum(crashPoints),
  without: z
    .array(z.enum(safeguards))
    .refine((without) => new Set(without).size === without.length, 'names a safeguard twice'),
});

/** It is about no session that a token could reach or not: its runs have a database of their own. */
export function mountCrashLab(app: App, { crashLab, gate, readJsonBody }: CrashOptions): void {
  mountApart(app, '/lab/crash', {
    GET: gate('write', (c) => c.json({ run: crashLab.newest() ?? null })),
    POST: gate('write', async (c) => {
      const plan = shapedBody(planShape, await readJsonBody(c, 'bodyBytes'));
      const before = crashLab.newest();
      const run = crashLab.begin(plan);
      return c.json({ run }, run.id === before?.id ? 200 : 202);
    }),
  });
}
