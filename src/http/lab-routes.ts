/** The lab of a development server over HTTP: faults on request, and the marks that they and their repairs leave. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { parseCursor } from '../event/cursor.ts';
import { sessionIdShape } from '../event/event.ts';
import { START } from '../event/sequence.ts';
import { appendBurst } from '../lab/burst.ts';
import type { Appends } from '../lab/burst.ts';
import type { CrashLab } from '../lab/crash-lab.ts';
import type { Lab } from '../lab/lab.ts';
import type { Sessions } from '../session/sessions.ts';
import { appendRefusal, sessionClosed } from './append-outcome.ts';
import { shapedBody } from './body.ts';
import type { ReadJsonBody } from './body.ts';
import type { App, AppContext } from './context.ts';
import { mountCrashLab } from './crash-routes.ts';
import { mountApart } from './dispatch.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { Door, Gate, RequireReach } from './door.ts';

/** A lab, and the gateway that it is in. */
export interface MountedLab extends Appends {
  readonly lab: Lab;
  readonly crashLab?: CrashLab | undefined;
}

export interface LabOptions {
  readonly mounted: MountedLab;
  readonly sessions: Pick<Sessions, 'describe'>;
  readonly gate: Gate;
  readonly requireReach: RequireReach;
  readonly door: Door;
  readonly readJsonBody: ReadJsonBody;
}

const faultShape = z.strictObject({
  fault: z.enum(['drop_next', 'drop_last_of_burst', 'stop_bus', 'restart_gateway']),
  session: sessionIdShape,
});
const headCheckShape = z.strictObject({ isPaused: z.boolean() });

export function mountLab(app: App, options: LabOptions): void {
  const { mounted, gate, readJsonBody, door } = options;
  const { lab, crashLab } = mounted;

  if (crashLab !== undefined) mountCrashLab(app, { crashLab, gate, readJsonBody });
  mountApart(app, '/lab', { GET: gate('write', (c) => c.json(lab.state)) });
  mountApart(app, '/lab/head-check', {
    POST: gate('write', async (c) => {
      const { isPaused } = shapedBody(headCheckShape, await readJsonBody(c, 'bodyBytes'));
      lab.pauseHeadCheck(isPaused);
      return c.json({});
    }),
  });
  mountApart(app, '/lab/faults', {
    POST: gate('write', async (c, credential) => {
      const { fault, session } = shapedBody(faultShape, await readJsonBody(c, 'bodyBytes'));
      c.get('notes').session = session;
      await options.requireReach(credential, session);
      await commit(fault, session, options);
      return c.json({}, 202);
    }),
  });
  mountApart(app, '/lab/sessions/:session/marks', {
    GET: door('write', (c, { session }) => Promise.resolve(c.json({ marks: lab.marks.after(session, afterOf(c)) }))),
  });
}

type Fault = z.infer<typeof faultShape>['fault'];

async function commit(fault: Fault, session: string, { mounted, sessions }: LabOptions): Promise<void> {
  const { lab } = mounted;
  const row = await sessions.describe(session);
  if (row === undefined) throw sessionUnknown();
  if (row.state === 'deleted') throw sessionDeleted();
  switch (fault) {
    case 'drop_next':
      if (row.state === 'closed') throw sessionClosed();
      return lab.dropNext(session);
    case 'drop_last_of_burst': {
      const outcome = await appendBurst(mounted, session);
      if (outcome.kind !== 'appended') throw appendRefusal(outcome);
      return;
    }
    case 'stop_bus':
      return lab.stopBus();
    case 'restart_gateway':
      return lab.restartGateway();
  }
}

/** The marks' ids have the grammar of cursors. */
function afterOf(c: AppContext): number {
  const texts = c.req.queries('after') ?? [];
  const requested = parseCursor(texts[0]);
  if (texts.length <= 1 && requested.kind === 'start') return START;
  if (texts.length <= 1 && requested.kind === 'after') return requested.cursor;
  throw new LedgerlineError('malformed', 'after is the id of a mark, once', { where: 'after' });
}
