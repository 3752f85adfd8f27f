/** The web client and the server's turns: what is said is answered once, decided once and stopped, and every screen sees it. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../web-client/src/sender.ts';
import { listSessions, markRead } from '../../web-client/src/session-list.ts';
import { createSessionView } from '../../web-client/src/session-view.ts';
import type { SessionView, SessionViewOptions } from '../../web-client/src/session-view.ts';
import { closeSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { takeTurn } from '../support/scripted-agent.ts';
import { MemoryStorage } from '../support/sender-scene.ts';
import { appendNumbers, newSession, noSubscribers } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

let gateway: InProcessGateway;
let token: string;
beforeAll(async () => {
  gateway = await startInProcessGateway();
  token = await gateway.token();
});
afterAll(() => gateway?.stop());

const place = () => ({ url: gateway.publicUrl, token });

function open(session: string, options: Partial<SessionViewOptions> = {}): SessionView {
  const view = createSessionView({ ...place(), session, storage: new MemoryStorage(), ...options });
  onTestFinished(() => view.stop());
  return view;
}

const does = (view: SessionView, state: string): Promise<unknown> =>
  eventually(`the agent is ${state}`, () => view.getSnapshot().turn.state === state);

const texts = (view: SessionView): string[] =>
  view
    .getSnapshot()
    .timeline.items.flatMap((item) => (item.kind === 'message' && !item.isAbandoned ? [item.text] : []));

describe('a conversation', () => {
  test('shows what is said, what the agent does, and its answer, in every window of it', async () => {
    const session = await newSession(gateway, 300);
    const [view, small] = [open(session), open(session, { initial: 1 })];
    const { sequence } = await view.send('Where is it?');
    expect(sequence).toBe(301);
    await Promise.all([does(view, 'queued'), does(small, 'queued')]);
    const turn = await takeTurn(gateway, session);
    await Promise.all([does(view, 'running'), does(small, 'running')]);
    const late = open(session, { initial: 1 });
    await turn.say('On its way.');
    await eventually('the answer is there', () => texts(view).at(-1) === 'On its way.');
    expect(view.getSnapshot().turn).toMatchObject({ turn: turn.turn, attempt: turn.attempt, try: 1 });
    await Promise.all([view.send('And now?'), small.send('Quick!', { onBusy: 'steer' })]);
    await turn.finish();
    await Promise.all([does(view, 'queued'), does(small, 'queued'), does(late, 'queued')]);
    await (await takeTurn(gateway, session)).finish();
    await Promise.all([does(view, 'idle'), does(small, 'idle'), does(late, 'idle')]);
    expect([view, small, late].map((one) => one.getSnapshot().outgoing)).toEqual([[], [], []]);
    expect(texts(view).slice(-4, -2)).toEqual(['Where is it?', 'On its way.']);
  });

  test('that is opened while it is quiet and long asks the server what the agent does', async () => {
    const session = await newSession(gateway);
    const first = open(session);
    await first.send('Q');
    const turn = await takeTurn(gateway, session);
    await appendNumbers(gateway, session, 50);
    const view = open(session, { initial: 10 });
    await does(view, 'running');
    expect(view.getSnapshot().turn.turn).toBe(turn.turn);
    await turn.finish();
    await does(view, 'idle');
  });

  test('is tried again where an attempt failed, and tells why when it ends so', async () => {
    const session = await newSession(gateway);
    const view = open(session);
    await view.send('Q');
    const error = { code: 'overloaded', message: 'Later.' };
    await (await takeTurn(gateway, session)).fail(error, true);
    await does(view, 'retrying');
    const { retryAt = '', error: why } = view.getSnapshot().turn;
    expect([Number.isNaN(Date.parse(retryAt)), why]).toEqual([false, error]);
    const again = await takeTurn(gateway, session);
    await eventually('it is the second try', () => view.getSnapshot().turn.try === 2);
    await again.fail({ code: 'broken', message: 'It broke.' });
    await does(view, 'idle');
    expect(view.getSnapshot().turn.error).toEqual({ code: 'broken', message: 'It broke.' });
  });
});

describe('an approval', () => {
  test('is decided once: a second person is told of the first, and the same one may say it again', async () => {
    const session = await newSession(gateway);
    const view = open(session);
    const other = open(session, { token: await gateway.token({ subject: 'maya' }) });
    await view.send('Refund it');
    await (await takeTurn(gateway, session)).ask('refund', { tool: 'refund', args: { cents: 4_000 } });
    await Promise.all([does(view, 'waiting'), does(other, 'waiting')]);
    const first = await other.decide('refund', 'approved', 'fine');
    expect(first).toMatchObject({ decision: 'approved', isOurs: true });
    expect(await other.decide('refund', 'approved')).toEqual(first);
    expect(await view.decide('refund', 'denied')).toEqual({
      decision: 'approved',
      by: 'maya',
      sequence: first.sequence,
      isOurs: false,
    });
    const turn = await takeTurn(gateway, session);
    expect(turn.decisions).toMatchObject([{ approval: 'refund', decision: 'approved', comment: 'fine' }]);
    await turn.finish();
    await does(view, 'idle');
  });

  test('is void when its turn was stopped', async () => {
    const session = await newSession(gateway);
    const view = open(session);
    await view.send('Refund it');
    await (await takeTurn(gateway, session)).ask('refund', { tool: 'refund' });
    await does(view, 'waiting');
    expect(await view.stopTurn()).toEqual({ stopping: false, stopped: true, state: 'idle' });
    await does(view, 'idle');
    const isVoid = view.getSnapshot().timeline.items.some((item) => item.kind === 'approval' && item.isVoid === true);
    expect(isVoid).toBe(true);
    expect(await view.decide('refund', 'approved')).toEqual({
      decision: null,
      by: null,
      sequence: null,
      isOurs: false,
    });
  });
});

test('a stop is seen on every screen, and what was written stays [vercel/ai#18458]', async () => {
  const session = await newSession(gateway);
  const [view, other] = [open(session), open(session)];
  await view.send('Q');
  const turn = await takeTurn(gateway, session);
  await turn.say('so far');
  await does(other, 'running');
  expect(await other.stopTurn()).toMatchObject({ stopping: true });
  await Promise.all([does(view, 'stopping'), does(other, 'stopping')]);
  await turn.finish('cancelled');
  await Promise.all([does(view, 'idle'), does(other, 'idle')]);
  expect([texts(view), texts(other)]).toEqual([
    ['Q', 'so far'],
    ['Q', 'so far'],
  ]);
});

test('closing every screen stops nothing, and what comes back is complete', async () => {
  const session = await newSession(gateway);
  const view = open(session);
  await view.send('Q');
  const turn = await takeTurn(gateway, session);
  view.stop();
  await noSubscribers(gateway, session);
  await turn.say('all of it');
  expect(await turn.stopAsked()).toBeNull();
  await turn.finish();
  const again = open(session);
  await eventually('it is there', () => texts(again).at(-1) === 'all of it');
});

test('a message to a closed session is refused, with its reason', async () => {
  const session = await newSession(gateway);
  await closeSession(gateway, session);
  const sender = createSender({ ...place(), session, storage: new MemoryStorage() });
  await expect(sender.send('Q')).rejects.toMatchObject({ code: 'refused', problem: 'session_closed' });
  expect(sender.outgoing).toMatchObject([{ state: 'refused', error: { problem: 'session_closed' } }]);
  sender.close();
});

test('the list shows what happened last first, what runs, and what this reader has not read', async () => {
  const [quiet, busy] = [await newSession(gateway), await newSession(gateway)];
  const mine = { ...place(), token: await gateway.token({ sessions: [quiet, busy] }) };
  const sender = createSender({ ...mine, session: busy, storage: new MemoryStorage() });
  onTestFinished(() => sender.close());
  await sender.send('Q');
  const turn = await takeTurn(gateway, busy);
  const { sessions, next } = await listSessions(mine);
  expect(sessions).toMatchObject([
    { session: busy, turn: { state: 'running', turn: turn.turn }, unread: false },
    { session: quiet, turn: { state: 'idle' }, unread: false },
  ]);
  expect(next).toBeNull();
  await turn.finish();
  const [ended] = (await listSessions({ ...mine, limit: 1 })).sessions;
  expect(ended).toMatchObject({ session: busy, unread: true });
  expect(await markRead({ ...mine, session: busy, sequence: ended?.notable ?? 0 })).toEqual({ read: ended?.notable });
  const page = await listSessions({ ...mine, limit: 1 });
  expect(page.sessions[0]?.unread).toBe(false);
  const rest = await listSessions({ ...mine, limit: 1, after: page.next ?? '' });
  expect(rest.sessions.map((one) => one.session)).toEqual([quiet]);
});
