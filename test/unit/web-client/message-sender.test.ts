/** What a person says goes out once, in order, through whatever the network does, and is never lost unseen. */
import { describe, expect, test, vi } from 'vitest';
import { problem } from '../../support/scripted-session.ts';
import { senderScene } from '../../support/sender-scene.ts';

const contents = (session: { readonly events: readonly { readonly data: unknown }[] }): unknown[] =>
  session.events.map(({ data }) => (data as { readonly content: unknown }).content);

describe('a message', () => {
  test('is outgoing at once, goes out with a key of its own, and is gone when the server has it', async () => {
    const scene = senderScene();
    const sender = scene.open();
    const sent = sender.send('Hello', 'interrupt');
    expect(sender.outgoing).toMatchObject([{ content: 'Hello', onBusy: 'interrupt', state: 'sending' }]);
    const [{ key } = { key: '' }] = sender.outgoing;
    expect(key).toMatch(/^[0-9a-f]{32}$/);
    expect(scene.storage.length).toBe(1);
    expect(await sent).toEqual({ sequence: 1 });
    expect(scene.session.asked.map(({ method, body }) => [method, body])).toEqual([
      ['POST', { key, content: 'Hello', onBusy: 'interrupt' }],
    ]);
    expect([sender.outgoing, scene.storage.length]).toEqual([[], 0]);
  });

  test('stays where a screen shows it until its event is there, and is never shown twice', async () => {
    const scene = senderScene();
    const sender = scene.open({ isFollowed: true });
    await sender.send('Hello', 'enqueue');
    expect(sender.shows).toEqual([['Hello', 'sending']]);
    sender.take(scene.session.events, 1);
    expect(sender.shows).toEqual([]);
  });

  test('whose event is there before its answer is not outgoing any more', async () => {
    const scene = senderScene();
    const sender = scene.open({ isFollowed: true });
    const sent = sender.send('Hello', 'enqueue');
    const [{ key } = { key: '' }] = sender.outgoing;
    scene.session.meet = () => 'hang';
    await scene.settle();
    const event = scene.session.say('message.created', { key, role: 'user', content: 'Hello' });
    sender.take([event], 1);
    expect(sender.shows).toEqual([]);
    expect(await sent).toEqual({ sequence: 1 });
    sender.close();
  });

  test('that is on its way when its session is left arrives, and is not kept to be sent again', async () => {
    const scene = senderScene();
    const { fetch } = scene.session;
    vi.spyOn(scene.session, 'fetch').mockImplementation(async (input, init) => {
      sender.close();
      init?.signal?.throwIfAborted();
      return fetch(input, init);
    });
    const sender = scene.open();
    const sent = sender.send('Hello', 'enqueue');
    await expect(sent).rejects.toMatchObject({ code: 'aborted' });
    await scene.settle();
    expect([contents(scene.session), scene.storage.length]).toEqual([['Hello'], 0]);
  });

  test('that was said twice is two messages', async () => {
    const scene = senderScene();
    const sender = scene.open();
    const both = await Promise.all([sender.send('Yes', 'enqueue'), sender.send('Yes', 'enqueue')]);
    expect(both).toEqual([{ sequence: 1 }, { sequence: 2 }]);
  });

  test('whose answer was lost is sent again with its key, and stored once [TanStack AI] [anthropic-sdk-java#370]', async () => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = ({ body }, index) => {
      if (index > 0) return undefined;
      // it is stored, and the connection is gone before the answer
      scene.session.say('message.created', { role: 'user', ...(body as object) });
      return 'fail';
    };
    const sent = sender.send('Hello', 'enqueue');
    await scene.settle();
    expect(sender.shows).toEqual([['Hello', 'unsent']]);
    await scene.world.clock.advance(1_000);
    expect(await sent).toEqual({ sequence: 1 });
    expect(contents(scene.session)).toEqual(['Hello']);
    expect(new Set(scene.session.asked.map(({ body }) => (body as { key: string }).key)).size).toBe(1);
  });

  test('has one in flight before it, and keeps its place behind what cannot go out', async () => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = (_, index) => (index < 2 ? 'fail' : undefined);
    const all = ['one', 'two', 'three'].map((content) => sender.send(content, 'enqueue'));
    await scene.settle();
    expect(sender.shows.map(([, state]) => state)).toEqual(['unsent', 'unsent', 'unsent']);
    while (sender.outgoing.length > 0) await scene.world.clock.advance(100);
    await Promise.all(all);
    expect(scene.session.sent).toEqual(['one', 'one', 'one', 'two', 'three']);
    expect(contents(scene.session)).toEqual(['one', 'two', 'three']);
    expect([scene.world.clock.waiting, scene.world.listeners, scene.mostAtOnce]).toEqual([0, 0, 1]);
  });

  test('that is said while the one before comes to its end goes out, too, at whatever moment', async () => {
    for (let moments = 0; moments < 30; moments += 1) {
      const scene = senderScene();
      const sender = scene.open();
      await sender.send('one', 'enqueue');
      for (let moment = 0; moment < moments; moment += 1) await Promise.resolve();
      void sender.send('two', 'enqueue');
      await scene.settle();
      expect(contents(scene.session)).toEqual(['one', 'two']);
    }
  });

  test('that gets no answer at all is tried again', async () => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = (_, index) => (index === 0 ? 'hang' : undefined);
    const sent = sender.send('Hello', 'enqueue');
    await scene.world.clock.advance(14_000);
    expect(sender.shows).toEqual([['Hello', 'sending']]);
    await scene.world.clock.advance(7_000);
    expect(await sent).toEqual({ sequence: 1 });
  });

  test.each(['online', 'visible', 'resumed'] as const)('goes out at once when the world says %s', async (how) => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = () => problem(503, 'unavailable', { 'retry-after': '600' });
    const sent = sender.send('Hello', 'enqueue');
    await scene.settle();
    expect(sender.outgoing[0]).toMatchObject({ state: 'unsent', error: { problem: 'unavailable' } });
    scene.session.meet = () => undefined;
    scene.world.wake(how);
    expect(await sent).toEqual({ sequence: 1 });
  });

  test('waits for a new token, and with one that stays the same for whoever has another', async () => {
    const scene = senderScene();
    scene.session.meet = ({ headers }) =>
      headers.get('authorization') === 'Bearer new' ? undefined : problem(401, 'unauthorized');
    let token = 'old';
    const sender = scene.open({ token: () => token });
    const sent = sender.send('Hello', 'enqueue');
    await scene.settle();
    expect(sender.shows).toEqual([['Hello', 'unsent']]);
    token = 'new';
    await scene.world.clock.advance(6_000);
    expect(await sent).toEqual({ sequence: 1 });
    sender.close();
    const other = scene.open({ token: 'old' });
    void other.send('Again', 'enqueue');
    await scene.settle();
    const asked = scene.session.asked.length;
    await scene.world.clock.advance(600_000);
    expect(scene.session.asked.length, 'it asks no more').toBe(asked);
    expect(other.outgoing[0]).toMatchObject({ state: 'unsent', error: { status: 401 } });
    other.close();
    const again = scene.open({ token: 'new' });
    await scene.settle();
    expect([contents(scene.session), again.outgoing]).toEqual([['Hello', 'Again'], []]);
  });
});

describe('a refusal', () => {
  test.each([
    [400, 'malformed'],
    [403, 'forbidden'],
    [404, 'session_unknown'],
    [409, 'request_conflict'],
    [409, 'session_closed'],
    [410, 'session_deleted'],
    [413, 'too_large'],
  ])('with %i %s is final, shown with its reason, and holds up nothing', async (status, code) => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = (_, index) => (index === 0 ? problem(status, code) : undefined);
    const refused = sender.send('Hello', 'enqueue');
    const next = sender.send('Next', 'enqueue');
    await expect(refused).rejects.toMatchObject({ code: 'refused', status, problem: code });
    expect(await next).toEqual({ sequence: 1 });
    expect(sender.outgoing).toMatchObject([{ content: 'Hello', state: 'refused', error: { problem: code } }]);
    expect(scene.storage.length, 'a reload forgets it').toBe(0);
    expect(scene.world.clock.waiting).toBe(0);
  });

  test('may be tried again with the same key, or discarded', async () => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = (_, index) => (index < 2 ? problem(403, 'forbidden') : undefined);
    await sender.send('One', 'enqueue').catch(() => undefined);
    await sender.send('Two', 'enqueue').catch(() => undefined);
    const [one, two] = sender.outgoing;
    sender.discard(one?.key ?? '');
    expect(sender.shows).toEqual([['Two', 'refused']]);
    sender.retry(two?.key ?? '');
    expect(sender.shows).toEqual([['Two', 'sending']]);
    await scene.settle();
    expect([sender.shows, contents(scene.session)]).toEqual([[], ['Two']]);
    expect(scene.session.events[0]?.data).toMatchObject({ key: two?.key });
  });

  test('because the agent is busy is kept over a reload, and goes out when a person says so', async () => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = () => problem(409, 'turn_busy');
    await expect(sender.send('Hello', 'reject')).rejects.toMatchObject({ problem: 'turn_busy' });
    sender.close();
    scene.session.meet = () => undefined;
    const again = scene.open();
    await scene.settle();
    expect(again.outgoing).toMatchObject([{ content: 'Hello', state: 'refused', error: { problem: 'turn_busy' } }]);
    again.retry(again.outgoing[0]?.key ?? '');
    await scene.settle();
    expect([again.outgoing, contents(scene.session), scene.storage.length]).toEqual([[], ['Hello'], 0]);
  });

  test('needs nobody to wait for it', async () => {
    const scene = senderScene();
    const sender = scene.open();
    scene.session.meet = () => problem(403, 'forbidden');
    // the run fails on an unhandled rejection
    void sender.send('Hello', 'enqueue');
    await scene.settle();
    expect(sender.shows).toEqual([['Hello', 'refused']]);
  });
});

describe('what is unsent', () => {
  test('is there again after a reload, in order, and goes out, also what the server has already', async () => {
    const scene = senderScene();
    scene.session.meet = () => 'fail';
    const before = scene.open();
    const unsent = before.send('one', 'enqueue');
    void before.send('two', 'enqueue');
    await scene.settle();
    const keys = before.outgoing.map(({ key }) => key);
    before.close();
    await expect(unsent).rejects.toMatchObject({ code: 'aborted' });
    // the first had come through, and only its answer had not
    scene.session.say('message.created', { key: keys[0], role: 'user', content: 'one' });
    scene.session.meet = () => undefined;
    const after = scene.open({ isFollowed: true });
    expect(after.outgoing.map(({ key }) => key)).toEqual(keys);
    await scene.settle();
    after.take(scene.session.events, scene.session.head);
    expect([after.outgoing, contents(scene.session)]).toEqual([[], ['one', 'two']]);
  });

  test('may be discarded while it waits, and is then sent by nobody', async () => {
    const scene = senderScene();
    scene.session.meet = () => 'fail';
    const sender = scene.open();
    const sent = sender.send('Never mind', 'enqueue');
    await scene.settle();
    sender.discard(sender.outgoing[0]?.key ?? '');
    await expect(sent).rejects.toMatchObject({ code: 'aborted' });
    scene.session.meet = () => undefined;
    await scene.world.clock.advance(10_000);
    expect([sender.outgoing, scene.session.events, scene.storage.length]).toEqual([[], [], 0]);
  });

  test('lives in memory where the storage is full', async () => {
    const scene = senderScene();
    scene.storage.isFull = true;
    const sender = scene.open();
    expect(await sender.send('Hello', 'enqueue')).toEqual({ sequence: 1 });
    expect(contents(scene.session)).toEqual(['Hello']);
  });

  test('is not confused by what else is kept there', async () => {
    const scene = senderScene();
    for (const text of ['', 'null', '{"key":1}', '{"key":"k","content":7}'])
      scene.storage.setItem(`a session\n${text}`, text);
    scene.storage.setItem('theme', 'dark');
    const sender = scene.open();
    expect(sender.outgoing).toEqual([]);
    await sender.send('Hello', 'enqueue');
    expect(scene.storage.length).toBe(5);
  });

  test('is sent again when a restore has lost what was taken', async () => {
    const scene = senderScene();
    const sender = scene.open({ isFollowed: true });
    await sender.send('Hello', 'enqueue');
    scene.session.events.length = 0;
    sender.reset();
    await scene.settle();
    sender.take(scene.session.events, 1);
    expect([contents(scene.session), sender.outgoing]).toEqual([['Hello'], []]);
  });

  test('is left alone by a view that is stopped at once', async () => {
    const scene = senderScene();
    scene.session.meet = () => 'fail';
    const before = scene.open();
    void before.send('Hello', 'enqueue');
    await scene.settle();
    before.close();
    const asked = scene.session.asked.length;
    scene.open().close();
    await scene.settle();
    expect([scene.session.asked.length, scene.storage.length]).toEqual([asked, 1]);
  });
});

describe('two tabs', () => {
  test('show the same, send one at a time, and each learns what became of its own', async () => {
    const scene = senderScene();
    const [one, two] = [scene.open(), scene.open()];
    scene.session.meet = (_, index) => (index === 0 ? 'fail' : undefined);
    const sent = [one.send('a', 'enqueue'), two.send('b', 'enqueue'), one.send('c', 'enqueue')];
    await scene.settle();
    expect(two.shows.map(([content]) => content)).toEqual(one.shows.map(([content]) => content));
    while (one.outgoing.length + two.outgoing.length > 0) await scene.world.clock.advance(100);
    expect((await Promise.all(sent)).map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    expect(contents(scene.session)).toEqual(['a', 'b', 'c']);
    expect([scene.mostAtOnce, scene.storage.length]).toEqual([1, 0]);
  });

  test('both show what was refused, and where one discards it, it is gone in both', async () => {
    const scene = senderScene();
    const [one, two] = [scene.open(), scene.open()];
    scene.session.meet = () => problem(403, 'forbidden');
    await one.send('a', 'enqueue').catch(() => undefined);
    await scene.settle();
    expect([one.shows, two.shows]).toEqual([[['a', 'refused']], [['a', 'refused']]]);
    two.discard(two.outgoing[0]?.key ?? '');
    await scene.settle();
    expect([one.shows, two.shows]).toEqual([[], []]);
  });

  test('that do not hear each other store each message once all the same', async () => {
    const scene = senderScene();
    scene.isDeaf = true;
    scene.session.meet = (_, index) => (index < 2 ? 'fail' : undefined);
    const one = scene.open();
    const sent = one.send('a', 'enqueue');
    const two = scene.open();
    for (let step = 0; step < 50; step += 1) await scene.world.clock.advance(200);
    expect(await sent).toEqual({ sequence: 1 });
    expect([contents(scene.session), one.outgoing, two.outgoing]).toEqual([['a'], [], []]);
  });
});
