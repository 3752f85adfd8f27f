/** The description of the API holds: every operation is sent as it is described, and answers as it is described. */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ListenerName } from '../../src/http/openapi/declaration.ts';
import { freshId, startDeployment } from '../support/deployment.ts';
import type { Deployment } from '../support/deployment.ts';
import { describedApi } from '../support/described-api.ts';
import type { Answered, DescribedApi, DescribedOperation, Sent } from '../support/described-api.ts';
import type { TokenOptions } from '../support/token.ts';
import { eventually } from '../support/waits.ts';

let deployment: Deployment;
const apis = {} as Record<ListenerName, DescribedApi>;
beforeAll(async () => {
  deployment = await startDeployment();
  apis.public = await describedApi('public', deployment.publicUrl, await deployment.token());
  apis.internal = await describedApi('internal', deployment.internalUrl, deployment.key);
});
afterAll(() => deployment.stop());

interface Claimed {
  readonly session: string;
  readonly turn: string;
  readonly attempt: number;
}

/** Sends operations of one listener, with the examples of its description for bodies, and keeps which were answered. */
function visitor(listener: ListenerName) {
  const answered = new Set<string>();
  const send = async (id: string, status: number, sent: Sent = {}): Promise<Record<string, unknown>> => {
    const answer = await apis[listener].send(id, sent);
    expect(answer.status, `${id}: ${JSON.stringify(answer.body)}`).toBe(status);
    answered.add(id);
    return answer.body as Record<string, unknown>;
  };
  const example = (id: string, members: object = {}): object => ({ ...apis[listener].example(id), ...members });
  return { send, example, answered };
}

type Visitor = ReturnType<typeof visitor>;

describe.each(['public', 'internal'] as const)('of the %s listener', (listener) => {
  it('every operation is answered as it is described', async () => {
    const asked = visitor(listener);
    const worker = listener === 'internal' ? asked : visitor('internal');
    for (const part of [aboutServer, aboutSession, aboutTurns, aboutDoubt, aboutEnd]) await part(asked, worker);
    const described = apis[listener].operations.map(({ operationId }) => operationId);
    expect(described.filter((id) => !asked.answered.has(id))).toEqual([]);
  });

  it('every operation refuses as it is described', async () => {
    const misdescribed: string[] = [];
    for (const operation of apis[listener].operations) {
      if (operation.scope === undefined) continue;
      const { operationId: id, scope } = operation;
      const session = await freshSession();
      const sent = { path: { session, turn: 'none', index: 1, producer: 'p' }, isEndless: true };
      const body = apis[listener].example(id);
      const whole = { ...sent, ...(body === undefined ? {} : { body }) };
      expectRefusal(
        await apis[listener].sendWrong(id, { ...whole, headers: { authorization: 'Bearer no' } }),
        401,
        'unauthorized',
      );
      if (listener === 'public') {
        const others = ['read', 'send', 'write', 'create'].filter((one) => one !== scope).join(' ');
        expectRefusal(await apis.public.sendWrong(id, await as({ scope: others }, whole)), 403, 'forbidden', { scope });
        if (hasSession(operation)) {
          const foreign = await as({ sessions: ['another'] }, whole);
          expectRefusal(await apis.public.sendWrong(id, foreign), 404, 'session_unknown');
        }
      }
      if (listener === 'internal' && hasSession(operation)) {
        // The key reaches what is not there, too: an operation that does not look says nothing of it.
        const unknown = await apis.internal.sendWrong(id, { ...whole, path: { ...sent.path, session: freshId() } });
        if (isUnknown(unknown) !== apis.internal.mentions(id, 'SessionUnknownProblem')) misdescribed.push(id);
      }
      await expectMalformed(apis[listener], operation, sent);
    }
    expect(misdescribed, 'whether they tell of a session that is not there').toEqual([]);
  });

  it('the members that a body must have are those that are described', async () => {
    const session = await freshSession();
    for (const { operationId: id, method } of apis[listener].operations) {
      const example = apis[listener].example(id);
      if (example === undefined || method === 'get') continue;
      const sent = { path: { session, turn: 'none', index: 1 } };
      for (const member of apis[listener].requiredOf(id)) {
        const { [member]: _, ...body } = example;
        expectRefusal(await apis[listener].sendWrong(id, { ...sent, body }), 400, 'malformed', {});
      }
      expectRefusal(
        await apis[listener].sendWrong(id, { ...sent, body: { ...example, surprise: 1 } }),
        400,
        'malformed',
      );
      const text = { ...sent, body: 'hello', headers: { 'content-type': 'text/plain' } };
      expectRefusal(await apis[listener].sendWrong(id, text), 415, 'unsupported_media_type');
    }
  });
});

const hasSession = ({ path }: DescribedOperation): boolean => path.includes('{session}');

/** What its path, its query or its body can have wrong. */
async function expectMalformed(api: DescribedApi, operation: DescribedOperation, sent: Sent): Promise<void> {
  const { operationId: id, parameters } = operation;
  if (hasSession(operation)) {
    const odd = { ...sent, path: { ...sent.path, session: 'a b' } };
    expectRefusal(await api.sendWrong(id, odd), 400, 'malformed', { where: 'session' });
  }
  if (parameters.some(({ name }) => name === 'limit')) {
    expectRefusal(await api.sendWrong(id, { ...sent, query: { limit: 0 } }), 400, 'malformed', { where: 'limit' });
  }
}

const isUnknown = ({ body }: Answered): boolean => Object(body)['type'] === 'urn:ledgerline:problem:session_unknown';

function expectRefusal({ body, status }: Answered, expected: number, code: string, fields: object = {}): void {
  expect(body).toMatchObject({ type: `urn:ledgerline:problem:${code}`, ...fields });
  expect(status).toBe(expected);
}

const as = async (token: TokenOptions, sent: Sent): Promise<Sent> => ({
  ...sent,
  headers: { ...sent.headers, authorization: `Bearer ${await deployment.token(token)}` },
});

async function freshSession(): Promise<string> {
  const session = freshId();
  expect((await apis.internal.send('createSession', { body: { session } })).status).toBe(201);
  return session;
}

async function aboutServer({ send, example }: Visitor, worker: Visitor): Promise<void> {
  await send('readHealth', 200);
  await send('readReadiness', 200);
  await worker.send('readMetrics', 200);
  await worker.send('revoke', 201, { body: worker.example('revoke', { sub: randomUUID() }) });
  await send('createSession', 201, { body: example('createSession', { session: freshId() }) });
}

async function aboutSession({ send, example }: Visitor, worker: Visitor): Promise<void> {
  const session = await freshSession();
  const path = { session };
  await send('createSession', 200, { body: { session } });
  await send('describeSession', 200, { path });
  const body = worker.example('appendEvents', { producer: { id: 'agent-7', sequence: 1 } });
  await worker.send('appendEvents', 201, { path, body });
  await worker.send('appendEvents', 409, { path, body });
  const lines = { headers: { 'content-type': 'application/x-ndjson' }, query: { producer: 'agent-7', sequence: 2 } };
  await worker.send('appendEvents', 200, { path, ...lines, body: '{"type":"text.delta","data":{"text":"lo"}}\n' });
  await worker.send('readProducer', 200, { path: { ...path, producer: 'agent-7' } });
  await send('readHistory', 200, { path, query: { after: 0, limit: 10 } });
  await send('followSession', 200, { path, query: { after: 'head' }, isEndless: true });
  await send('markRead', 200, { path, body: example('markRead', { sequence: 2 }) });
  await send('createTicket', 201, { path });
  await send('listSessions', 200, { query: { limit: 10 } });
  await send('closeSession', 200, { path });
  await send('followSession', 204, { path, headers: { 'Last-Event-ID': '2', Prefer: 'handling=strict' } });
  await worker.send('appendEvents', 409, { path, body: { events: [{ type: 'note', data: 1 }] } });
  await send('deleteSession', 200, { path });
  await send('describeSession', 410, { path });
  await send('followSession', 410, { path, headers: { Prefer: 'handling=strict' } });
}

/** A turn that does something, asks a person, and is given back on its way. */
async function aboutTurns({ send, example }: Visitor, worker: Visitor): Promise<void> {
  const path = { session: await freshSession() };
  const body = example('sendMessage', { key: randomUUID() });
  await send('sendMessage', 201, { path, body });
  await send('sendMessage', 200, { path, body });
  await send('sendMessage', 409, { path, body: { ...body, content: [{ type: 'text', text: 'something else' }] } });
  const first = await claim(worker, path.session);
  const at = { ...path, turn: first.turn };
  const { attempt } = first;
  await worker.send('renewTurns', 200, { body: { attempts: [{ ...path, turn: first.turn, attempt }] } });
  await worker.send('journalModel', 200, {
    path: { ...at, index: 0 },
    body: worker.example('journalModel', { attempt }),
  });
  const call = { path: { ...at, index: 1 } };
  await worker.send('startStep', 200, { ...call, body: worker.example('startStep', { attempt }) });
  const deliveries = [{ topic: 'order.found', payload: { order: '7731' } }];
  await worker.send('settleStep', 200, { ...call, body: worker.example('settleStep', { attempt, deliveries }) });
  await worker.send('startStep', 200, { ...call, body: worker.example('startStep', { attempt }) });
  await worker.send('readJournal', 200, { path: at });
  await send('sendMessage', 201, { path, body: { key: randomUUID(), content: 'and quickly', onBusy: 'steer' } });
  await worker.send('steerTurn', 200, { path: at, body: { attempt } });
  await send('listDeliveries', 200, { path, query: { limit: 5 } });
  const [approval] = [`refund-${at.turn}`.slice(0, 128)];
  await worker.send('waitForDecisions', 200, {
    path: at,
    body: { attempt, approvals: [{ approval, tool: 'refund' }] },
  });
  await send('listTurns', 200, { query: { which: 'active' } });
  const decision = example('decide', { approval });
  await send('decide', 201, { path, body: decision });
  await send('decide', 200, { path, body: decision });
  await send('decide', 409, { path, body: { ...decision, decision: 'denied' } });
  const again = await claim(worker, path.session);
  await worker.send('releaseTurn', 200, { path: at, body: { attempt: again.attempt } });
  const last = await claim(worker, path.session);
  await worker.send('finishTurn', 200, { path: at, body: worker.example('finishTurn', { attempt: last.attempt }) });
  await worker.send('finishTurn', 409, { path: at, body: worker.example('finishTurn', { attempt: 1, events: [] }) });
}

/** A call that only a person can tell of. */
async function aboutDoubt({ send, example }: Visitor, worker: Visitor): Promise<void> {
  const path = { session: await freshSession() };
  await send('sendMessage', 201, { path, body: { key: randomUUID(), content: 'Charge me' } });
  const { turn, attempt } = await claim(worker, path.session);
  const at = { ...path, turn };
  const call = { attempt, tool: 'charge', effect: 'once', args: { cents: 40 } };
  await worker.send('startStep', 200, { path: { ...at, index: 0 }, body: call });
  await worker.send('finishTurn', 200, { path: at, body: { attempt, outcome: 'completed' } });
  await send('listTurns', 200);
  await send('retryTurn', 409, { path: at });
  await send('resolveStep', 200, { path: { ...at, index: 0 }, body: example('resolveStep', { resume: false }) });
  await send('resolveStep', 409, { path: { ...at, index: 0 }, body: { outcome: 'not_done', resume: true } });
  await send('retryTurn', 200, { path: at });
  const again = await claim(worker, path.session);
  const failure = worker.example('failTurn', { attempt: again.attempt, retryable: false });
  await worker.send('failTurn', 200, { path: at, body: failure });
  await send('acknowledgeTurn', 200, { path: at });
  await send('rerunTurn', 409, { path: at });
  await send('rerunTurn', 200, { path: at, body: example('rerunTurn') });
}

/** Stopped before it began, and while it ran. */
async function aboutEnd({ send, example }: Visitor, worker: Visitor): Promise<void> {
  const path = { session: await freshSession() };
  const message = () => send('sendMessage', 201, { path, body: { key: randomUUID(), content: 'Tell me everything' } });
  await message();
  await send('stop', 200, { path });
  await message();
  await claim(worker, path.session);
  await send('stop', 202, { path, body: example('stop') });
  await send('describeSession', 200, { path });
}

/** Whatever another test left is given back. */
const claim = (worker: Visitor, session: string): Promise<Claimed> =>
  eventually(`${session} is claimed`, async () => {
    const { turns } = (await worker.send('claimTurns', 200, {
      body: worker.example('claimTurns', { limit: 50, waitMs: 1_000 }),
    })) as { turns: readonly Claimed[] };
    const others = turns.filter((one) => one.session !== session);
    for (const { session: other, turn, attempt } of others) {
      await worker.send('releaseTurn', 200, { path: { session: other, turn }, body: { attempt } });
    }
    return turns.find((one) => one.session === session);
  });
