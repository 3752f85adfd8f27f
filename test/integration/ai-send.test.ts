/** A chat of the real AI SDK talks to an agent through a real gateway: one turn for each message, and a stop that stops it. */
import type { UIMessageChunk } from 'ai';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createSender } from '../../web-client/src/sender.ts';
import { messageOf, openChat, plain, takeChatTurn, textChunks, textOf } from '../support/ai-chat.ts';
import type { ChatPlace, OpenChat } from '../support/ai-chat.ts';
import { call, closeSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { newSession, noSubscribers } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

let place: ChatPlace;
let stop: () => Promise<void>;
beforeAll(async () => {
  const gateway = await startInProcessGateway();
  place = { ...gateway, token: await gateway.token() };
  stop = () => gateway.stop();
});
afterAll(() => stop?.());

const answer = (id: string, text: string): UIMessageChunk[] => [
  { type: 'start', messageId: id },
  { type: 'start-step' },
  ...textChunks('t', text),
  { type: 'finish-step' },
  { type: 'finish' },
];
/** As far as its text, which goes on. */
const begun = (id: string, text: string): UIMessageChunk[] => answer(id, text).slice(0, 4);

interface Told {
  readonly sequence: number;
  readonly type: string;
  readonly data: { readonly turn?: string; readonly key?: string };
}

async function eventsOf(session: string): Promise<Told[]> {
  const { text } = await call(place, 'GET', `/sessions/${session}/events?limit=1000`);
  return (JSON.parse(text) as { events: Told[] }).events;
}

const countOf = async (session: string, type: string): Promise<number> =>
  (await eventsOf(session)).filter((event) => event.type === type).length;

const shows = ({ chat }: OpenChat, text: string): Promise<unknown> =>
  eventually(
    `the chat shows ${text}`,
    () => textOf(chat.messages.at(-1) ?? { id: '', role: 'user', parts: [] }) === text,
  );

/** Ends the turn as an agent that heard the stop. */
async function endStopped(turn: Awaited<ReturnType<typeof takeChatTurn>>): Promise<void> {
  await eventually('the stop is heard', async () => (await turn.stopAsked()) === 'stop');
  await turn.finish('cancelled');
}

describe('what the user says', () => {
  test('is stored under the message’s own id, and answered by one turn, which the chat shows', async () => {
    const session = await newSession(place);
    const page = await openChat(place, session);
    const sending = page.chat.sendMessage({ text: 'How is the weather?' });
    const turn = await takeChatTurn(place, session);
    expect(turn.inputs).toEqual([[{ type: 'text', text: 'How is the weather?' }]]);
    expect(page.chat.status).toBe('submitted');
    await turn.chunks(...begun('a1', 'It is '));
    await shows(page, 'It is ');
    expect(page.chat.status).toBe('streaming');
    await turn.chunks(...answer('a1', 'It is ').slice(4));
    await turn.finish();
    await sending;
    const [user, reply] = plain(page.chat.messages);
    expect(reply).toEqual(await messageOf(answer('a1', 'It is ')));
    expect((await eventsOf(session))[0]).toMatchObject({ type: 'message.created', data: { key: user?.id } });
    expect(plain((await openChat(place, session)).loaded)).toEqual([user, reply]);
    await noSubscribers(place, session);
  });

  test('one after the other is answered in turn, and nothing is left to resume', async () => {
    const session = await newSession(place);
    const page = await openChat(place, session);
    for (const number of [1, 2, 3]) {
      const sending = page.chat.sendMessage({ text: `question ${number}` });
      const turn = await takeChatTurn(place, session);
      await turn.chunks(...answer(`a${number}`, `answer ${number}`));
      await turn.finish();
      await sending;
    }
    expect(page.chat.messages.map(textOf)).toEqual([1, 2, 3].flatMap((n) => [`question ${n}`, `answer ${n}`]));
    const before = page.finished.length;
    await page.resume();
    expect([page.finished.length, page.chat.status]).toEqual([before, 'ready']);
  });

  test('while another turn runs gets its own answer, and nothing of that one', async () => {
    const session = await newSession(place);
    const [one, two] = [await openChat(place, session), await openChat(place, session)];
    const first = one.chat.sendMessage({ text: 'first' });
    const turn = await takeChatTurn(place, session);
    await turn.chunks(...begun('a1', 'to the first'));
    const second = two.chat.sendMessage({ text: 'second' });
    await eventually('it is queued', async () => (await countOf(session, 'message.created')) === 2);
    await turn.chunks(...answer('a1', 'to the first').slice(4));
    await turn.finish();
    const next = await takeChatTurn(place, session);
    await next.chunks(...answer('a2', 'to the second'));
    await next.finish();
    await Promise.all([first, second]);
    expect(one.chat.messages.map(textOf)).toEqual(['first', 'to the first']);
    expect(two.chat.messages.map(textOf)).toEqual(['second', 'to the second']);
    // what it has not shown of the other turn, a resume finds
    await two.resume();
    expect(two.chat.messages.map(textOf).toSorted()).toEqual(['second', 'to the first', 'to the second']);
  });

  test('is one turn, also when its answer is lost and it is sent again [TanStack AI] [anthropic-sdk-java#370]', async () => {
    const session = await newSession(place);
    let tries = 0;
    const page = await openChat(place, session, {
      async fetch(input, init) {
        const response = await fetch(input, init);
        if (init?.method !== 'POST') return response;
        tries += 1;
        if (tries === 1) throw new TypeError('the connection is gone');
        return response;
      },
    });
    const sending = page.chat.sendMessage({ text: 'once' });
    const turn = await takeChatTurn(place, session);
    await eventually('it was sent again', () => tries === 2);
    await turn.chunks(...answer('a1', 'once'));
    await turn.finish();
    await sending;
    expect(page.chat.messages.map(textOf)).toEqual(['once', 'once']);
    expect(await Promise.all(['message.created', 'turn.started'].map((type) => countOf(session, type)))).toEqual([
      1, 1,
    ]);
  });

  test('has an error when its turn fails, and when the session takes nothing more', async () => {
    const session = await newSession(place);
    const page = await openChat(place, session);
    const sending = page.chat.sendMessage({ text: 'first' });
    const turn = await takeChatTurn(place, session);
    await turn.fail({ code: 'broken', message: 'Out of luck.' });
    await sending;
    expect(page.chat.error?.message).toBe('Out of luck.');
    page.chat.clearError();
    await closeSession(place, session);
    await page.chat.sendMessage({ text: 'second' });
    expect(page.chat.error).toMatchObject({ name: 'FollowError', problem: 'session_closed' });
  });

  test('is refused while the agent is busy, where that was asked for', async () => {
    const session = await newSession(place);
    const one = await openChat(place, session);
    const first = one.chat.sendMessage({ text: 'first' });
    const turn = await takeChatTurn(place, session);
    const two = await openChat(place, session, { onBusy: 'reject' });
    await two.chat.sendMessage({ text: 'second' });
    expect(two.chat.error).toMatchObject({ problem: 'turn_busy' });
    await turn.finish();
    await first;
  });

  test('is answered by the attempt that stands: the page is told to resume where an older one was abandoned', async () => {
    const session = await newSession(place);
    const page: OpenChat = await openChat(place, session, { onRetry: () => void resumed.push(page.resume()) });
    const resumed: Promise<void>[] = [];
    const sending = page.chat.sendMessage({ text: 'Q' });
    const turn = await takeChatTurn(place, session);
    await turn.chunks(...begun('a1', 'lost'));
    await shows(page, 'lost');
    await turn.fail({ code: 'overloaded', message: 'Later.' }, true);
    const again = await takeChatTurn(place, session);
    await sending;
    await again.chunks(...answer('a2', 'kept'));
    await again.finish();
    await Promise.all(resumed);
    expect(resumed).toHaveLength(1);
    const shown = page.chat.messages.filter(({ parts }) => parts.length > 0);
    expect(shown.map(textOf)).toEqual(['Q', 'kept']);
  });

  test.each([
    ['the same message', 'a1', true],
    ['the same message, which it had finished before it asked,', 'a1', false],
    ['another message', 'a2', true],
  ])('goes on in %s after a decision, with all that was said before', async (_, id, isLeftOpen) => {
    const session = await newSession(place);
    const page = await openChat(place, session);
    const sending = page.chat.sendMessage({ text: 'Q' });
    const turn = await takeChatTurn(place, session);
    const asking = answer('a1', 'I ask. ');
    await turn.chunks(...(isLeftOpen ? asking.slice(0, -1) : asking));
    await turn.ask('p1', { tool: 'refund' });
    await sending;
    const late = await openChat(place, session);
    const sender = createSender({ url: place.publicUrl, token: place.token, session });
    onTestFinished(() => sender.close());
    await sender.decide('p1', 'approved');
    const resuming = [page.resume(), late.resume()];
    const again = await takeChatTurn(place, session);
    await again.chunks(...answer(id, 'Done.'));
    await again.finish();
    await Promise.all(resuming);
    const said = id === 'a1' ? ['Q', 'I ask. Done.'] : ['Q', 'I ask. ', 'Done.'];
    for (const one of [page, late, await openChat(place, session)]) {
      expect(one.chat.messages.map(textOf)).toEqual(said);
    }
  });

  test('again, in place of an answer, is an error that says what to do', async () => {
    const session = await newSession(place);
    const page = await openChat(place, session);
    const sending = page.chat.sendMessage({ text: 'Q' });
    const turn = await takeChatTurn(place, session);
    await turn.chunks(...answer('a1', 'A'));
    await turn.finish();
    await sending;
    await page.chat.regenerate();
    expect(page.chat.error?.message).toContain('no answer is replaced');
    expect(await countOf(session, 'turn.started')).toBe(1);
  });
});

describe('a stop', () => {
  test('of the page that asked stops the turn; every viewer sees it, and what was written stays [vercel/ai#5459]', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown): void => void unhandled.push(reason);
    process.on('unhandledRejection', note);
    onTestFinished(() => void process.off('unhandledRejection', note));
    const session = await newSession(place);
    const page = await openChat(place, session);
    const sending = page.chat.sendMessage({ text: 'Q' });
    const turn = await takeChatTurn(place, session);
    await turn.chunks(...begun('a1', 'so far'));
    await shows(page, 'so far');
    const viewer = await openChat(place, session);
    const watching = viewer.resume();
    await shows(viewer, 'so far');
    await page.chat.stop();
    await Promise.all([sending, endStopped(turn), watching]);
    for (const { chat } of [page, viewer]) {
      expect(chat.messages.map(textOf)).toEqual(['Q', 'so far']);
      expect([chat.status, chat.error]).toEqual(['ready', undefined]);
    }
    expect((await openChat(place, session)).loaded.map(textOf)).toEqual(['Q', 'so far']);
    expect((await eventsOf(session)).at(-1)).toMatchObject({ type: 'turn.cancelled', data: { reason: 'stopped' } });
    await noSubscribers(place, session);
    expect(unhandled).toEqual([]);
  });

  test('works after a resume, and from another page [vercel/ai#6502] [vercel/ai#18458]', async () => {
    const session = await newSession(place);
    const page = await openChat(place, session);
    const sending = page.chat.sendMessage({ text: 'Q' });
    const turn = await takeChatTurn(place, session);
    await turn.chunks(...begun('a1', 'so far'));
    const other = await openChat(place, session);
    const watching = other.resume();
    await shows(other, 'so far');
    expect(await other.transport.stop(session)).toEqual({ stopping: true, stopped: false, state: 'running' });
    await Promise.all([sending, endStopped(turn), watching]);
    for (const { chat } of [page, other]) expect([chat.status, textOf(chat.messages[1]!)]).toEqual(['ready', 'so far']);
    expect(await other.transport.stop(session)).toEqual({ stopping: false, stopped: false, state: 'idle' });
  });

  test('is not what it is to look away: the agent goes on, and a page that comes back has all of it', async () => {
    const session = await newSession(place);
    const asking = await openChat(place, session);
    const sending = asking.chat.sendMessage({ text: 'Q' });
    const turn = await takeChatTurn(place, session);
    await turn.chunks(...begun('a1', 'so far'));
    const page = await openChat(place, session);
    const watching = page.resume();
    await shows(page, 'so far');
    await page.chat.stop();
    await watching;
    expect(await turn.stopAsked()).toBeNull();
    await turn.chunks(...answer('a1', '').slice(4));
    await turn.finish();
    await sending;
    expect(await countOf(session, 'turn.stopping')).toBe(0);
    expect((await openChat(place, session)).loaded.map(textOf)).toEqual(['Q', 'so far']);
  });

  test('before any worker has begun takes the message back', async () => {
    const session = await newSession(place);
    const page = await openChat(place, session);
    const sending = page.chat.sendMessage({ text: 'Q' });
    await eventually('it is stored', async () => (await countOf(session, 'message.created')) === 1);
    await page.chat.stop();
    await sending;
    await eventually('it is taken back', async () => (await countOf(session, 'turn.cancelled')) === 1);
    expect(page.chat.status).toBe('ready');
    await noSubscribers(place, session);
  });

  test('of a message that is queued behind another turn stops its own, when that begins, and never the other', async () => {
    const session = await newSession(place);
    const [one, two] = [await openChat(place, session), await openChat(place, session)];
    const first = one.chat.sendMessage({ text: 'first' });
    const turn = await takeChatTurn(place, session);
    const second = two.chat.sendMessage({ text: 'second' });
    await eventually('it is queued', async () => (await countOf(session, 'message.created')) === 2);
    await two.chat.stop();
    await second;
    await turn.chunks(...answer('a1', 'to the first'));
    expect(await turn.stopAsked()).toBeNull();
    await turn.finish();
    await first;
    await endStopped(await takeChatTurn(place, session));
    expect(one.chat.messages.map(textOf)).toEqual(['first', 'to the first']);
    await noSubscribers(place, session);
  });
});
