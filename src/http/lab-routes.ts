/** The lab of a development server over HTTP: faults on request, and the marks that they and their repairs leave. */
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { parseCursor } from '../event/cursor.ts';
import { sessionIdShape } from '../event/event.ts';
import { parseJson, shaped } from '../event/json-body.ts';
import { START } from '../event/sequence.ts';
import { checkBody } from '../event/slice.ts';
import { appendBurst } from '../lab/burst.ts';
import type { Appends } from '../lab/burst.ts';
import type { Lab } from '../lab/lab.ts';
import type { Sessions } from '../session/sessions.ts';
import { appendRefusal, sessionClosed } from './append-route.ts';
import { requireScope } from './auth.ts';
import type { Authenticate, Credential } from './auth.ts';
import type { ReadJsonBody } from './body.ts';
import type { App, AppContext, Handler } from './context.ts';
import { mount } from './dispatch.ts';
import { sessionDeleted, sessionUnknown } from './door.ts';
import type { Door, RequireReach } from './door.ts';

/** A lab, and the gateway that it is in. */
export interface MountedLab extends Appends {
  readonly lab: Lab;
}

export interface LabOptions {
  readonly mounted: MountedLab;
  readonly sessions: Pick<Sessions, 'describe'>;
  readonly authenticate: Authenticate;
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
  const { mounted, authenticate, readJsonBody, door } = options;
  const { lab } = mounted;

  /** For what concerns the whole gateway. */
  const behindScope =
    (handler: (c: AppContext, credential: Credential) => Response | Promise<Response>): Handler =>
    async (c) => {
      const credential = await authenticate(c.req.header('authorization'));
      requireScope(credential, 'write');
      return handler(c, credential);
    };
  const read = async <Shape extends z.ZodType>(c: AppContext, shape: Shape): Promise<z.infer<Shape>> =>
    shaped(shape, parseJson(await readJsonBody(c, 'bodyBytes'), checkBody).value);

  mount(app, '/lab', { GET: behindScope((c) => c.json(lab.state)) });
  mount(app, '/lab/head-check', {
    POST: behindScope(async (c) => {
      const { isPaused } = await read(c, headCheckShape);
      lab.pauseHeadCheck(isPaused);
      return c.json({});
    }),
  });
  mount(app, '/lab/faults', {
    POST: behindScope(async (c, credential) => {
      const { fault, session } = await read(c, faultShape);
      c.set('session', session);
      await options.requireReach(credential, session);
      await commit(fault, session, options);
      return c.json({}, 202);
    }),
  });
  mount(app, '/lab/sessions/:session/marks', {
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
