/** The React binding: one living view of what is named, however often React mounts and renders. */
import { createElement } from 'react';
import { renderToString } from 'react-dom/server';
import { describe, expect, test } from 'vitest';
import { useSession } from '../../../web-client/src/react.ts';
import type { UsedSession, UseSessionOptions } from '../../../web-client/src/react.ts';
import { renderHook } from '../../support/rendered-hook.ts';
import type { RenderedHook } from '../../support/rendered-hook.ts';
import { problem, ScriptedSession } from '../../support/scripted-session.ts';
import { MemoryStorage } from '../../support/sender-scene.ts';
import { eventually } from '../../support/waits.ts';

const optionsFor = (session: ScriptedSession, more: Partial<UseSessionOptions> = {}): UseSessionOptions => ({
  url: 'http://ledgerline.test',
  session: 's1',
  share: false,
  fetch: session.fetch,
  ...more,
});

type Rendered = RenderedHook<UseSessionOptions, UsedSession>;
const holds = (hook: Rendered, count: number): Promise<unknown> =>
  eventually(`${count} events are shown live`, () => {
    return hook.now.events.length === count && hook.now.status.state === 'live';
  });

async function expectGone(hook: Rendered, session: ScriptedSession): Promise<void> {
  await hook.unmount();
  await eventually('every connection is closed', () => session.open.length === 0);
  const asked = session.asked.length;
  session.broadcast(1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(session.asked.length).toBe(asked);
}

describe('useSession', () => {
  test('shows the session as it grows, over one connection, also when React mounts twice', async () => {
    const session = new ScriptedSession(5);
    const hook = await renderHook(useSession, optionsFor(session));
    expect(hook.answers[0]).toMatchObject({ status: { state: 'connecting' }, events: [] });
    await holds(hook, 5);
    session.broadcast(2);
    await holds(hook, 7);
    expect(session.open.length).toBe(1);
    expect(session.asked.map(({ path }) => path)).toEqual(['/sessions/s1/events', '/sessions/s1/stream']);
    expect(hook.now).toMatchObject({ cursor: 7, isLeading: true, timeline: { last: 7 } });
    await expectGone(hook, session);
  });

  test('goes back, reconnects, and answers the same object until something changes', async () => {
    const session = new ScriptedSession(30);
    const hook = await renderHook(useSession, optionsFor(session, { initial: 10 }));
    await holds(hook, 10);
    const before = hook.now;
    await hook.render(optionsFor(session, { initial: 10 }));
    expect(hook.now).toBe(before);
    await hook.now.loadOlder(5);
    await holds(hook, 15);
    await hook.now.loadBackTo(1);
    await holds(hook, 30);
    hook.now.setAtEnd(true);
    hook.now.reconnect();
    await eventually('it has come again', () => session.cursors.length === 2);
    await holds(hook, 30);
    expect(hook.now.loadOlder).toBe(before.loadOlder);
    await expectGone(hook, session);
  });

  test('opens anew for another session, and shows nothing of the one before', async () => {
    const [one, other] = [new ScriptedSession(5), new ScriptedSession(3)];
    const hook = await renderHook(useSession, optionsFor(one));
    await holds(hook, 5);
    const rendered = hook.answers.length;
    await hook.render(optionsFor(other, { session: 's2' }));
    await holds(hook, 3);
    expect(hook.answers.slice(rendered).every(({ events }) => events.length < 5)).toBe(true);
    await eventually('the one before is left', () => one.open.length === 0);
    await expectGone(hook, other);
  });

  test('asks the last functions, and opens nothing anew for them', async () => {
    const session = new ScriptedSession(5);
    const told: string[] = [];
    let tokens = 0;
    const as = (name: string): UseSessionOptions =>
      optionsFor(session, {
        onEvents: (events) => void told.push(`${name}: ${events.length}`),
        token() {
          tokens += 1;
          return name;
        },
      });
    const hook = await renderHook(useSession, as('one'));
    await holds(hook, 5);
    expect(tokens).toBe(1);
    await hook.render(as('two'));
    told.length = 0;
    session.broadcast(2);
    await holds(hook, 7);
    expect(told).toEqual(['two: 2']);
    expect(session.cursors).toEqual([5]);
    session.meet = ({ headers }) =>
      headers.get('authorization') === 'Bearer two' ? undefined : new Response('', { status: 401 });
    hook.now.reconnect();
    await eventually('it is back with the new token', () => session.visits.length === 2);
    await expectGone(hook, session);
  });

  test('opens anew for another token that is a text, and for another signal', async () => {
    const session = new ScriptedSession(5);
    session.meet = ({ headers }) =>
      headers.get('authorization') === 'Bearer right' ? undefined : new Response('', { status: 401 });
    const hook = await renderHook(useSession, optionsFor(session, { token: 'wrong' }));
    await eventually('it is refused', () => hook.now.error?.status === 401);
    await hook.render(optionsFor(session, { token: 'right' }));
    await holds(hook, 5);
    const controller = new AbortController();
    await hook.render(optionsFor(session, { token: 'right', signal: controller.signal }));
    await holds(hook, 5);
    controller.abort();
    await eventually('it has stopped', () => hook.now.status.state === 'stopped' && session.open.length === 0);
    await expectGone(hook, session);
  });

  test('says something, shows it until its event is there, and tells what the agent does', async () => {
    const session = new ScriptedSession(5);
    const hook = await renderHook(useSession, optionsFor(session, { storage: new MemoryStorage() }));
    await holds(hook, 5);
    const { send, stop, decide } = hook.now;
    expect(await send('Hello', { onBusy: 'interrupt' })).toEqual({ sequence: 6 });
    await eventually('its event is shown', () => hook.now.timeline.items.some(({ kind }) => kind === 'message'));
    expect(hook.now).toMatchObject({ outgoing: [], turn: { state: 'queued' } });
    session.meet = ({ path }) => {
      if (path.endsWith('/stop')) return Response.json({ stopping: false, stopped: true, state: 'idle' });
      return path.endsWith('/decisions') ? Response.json({ sequence: 7, state: 'ready' }) : problem(403, 'forbidden');
    };
    expect(await stop()).toMatchObject({ stopped: true });
    expect(await decide('a1', 'approved')).toMatchObject({ decision: 'approved', isOurs: true });
    await expect(send('No')).rejects.toMatchObject({ problem: 'forbidden' });
    await eventually('it is shown as refused', () => hook.now.outgoing[0]?.state === 'refused');
    const [{ key } = { key: '' }] = hook.now.outgoing;
    session.meet = () => undefined;
    hook.now.retrySend(key);
    await eventually('it is there', () => hook.now.outgoing.length === 0);
    hook.now.discardSend(key);
    await expectGone(hook, session);
  });

  test('follows nothing without a session', async () => {
    const session = new ScriptedSession(5);
    const hook = await renderHook(useSession, optionsFor(session, { session: undefined }));
    expect(hook.now).toMatchObject({ status: { state: 'stopped' }, events: [], hasOlder: false });
    await hook.now.loadOlder();
    await hook.now.loadBackTo(1);
    hook.now.reconnect();
    hook.now.retrySend('k');
    await expect(hook.now.send('Hello')).rejects.toMatchObject({ code: 'aborted' });
    await expect(hook.now.stop()).rejects.toMatchObject({ code: 'aborted' });
    expect(session.asked).toEqual([]);
    await hook.render(optionsFor(session));
    await holds(hook, 5);
    await hook.render(optionsFor(session, { session: undefined }));
    expect(hook.now.events).toEqual([]);
    await expectGone(hook, session);
  });

  test('tells that no request can be made of its token, unless the caller makes the requests', async () => {
    const session = new ScriptedSession(5);
    const broken = { token: 'a\nb', fetch: undefined };
    const hook = await renderHook(useSession, optionsFor(session, broken));
    await eventually('it is refused', () => hook.now.status.state === 'stopped');
    expect(hook.now.error?.code).toBe('failed');
    await hook.render(optionsFor(session, { token: 'a b' }));
    await holds(hook, 5);
    await expectGone(hook, session);
  });

  test('is rendered on a server as connecting, and asks for nothing', () => {
    const session = new ScriptedSession(5);
    const Page = (): string => useSession(optionsFor(session)).status.state;
    expect(renderToString(createElement(Page))).toBe('connecting');
    expect(session.asked).toEqual([]);
  });
});
