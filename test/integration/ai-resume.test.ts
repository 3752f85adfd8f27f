/** A chat of the real AI SDK resumes an answer that an agent appends through a real gateway: each part once. */
import type { UIMessageChunk } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { messageOf, openChat, plain, startAgent, textChunks, textOf, userMessage } from '../support/ai-chat.ts';
import type { ChatPlace, OpenChat } from '../support/ai-chat.ts';
import { closeSession, deleteSession } from '../support/gateway-calls.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import { modelAnswer } from '../support/model-answer.ts';
import { answerDeltas } from '../support/provider-text.ts';
import { newSession, noSubscribers, subscribersOf } from '../support/session-calls.ts';
import { eventually } from '../support/waits.ts';

let place: ChatPlace;
let stop: () => Promise<void>;
beforeAll(async () => {
  const gateway = await startInProcessGateway();
  place = { ...gateway, token: await gateway.token() };
  stop = () => gateway.stop();
});
afterAll(() => stop?.());

const question = 'How is the weather?';

async function scene() {
  const session = await newSession(place);
  const agent = startAgent(place, session);
  await agent.say('u1', question);
  return { session, agent };
}

const streams = ({ chat }: OpenChat): Promise<unknown> =>
  eventually('the chat streams', () => chat.status === 'streaming');

describe('a resumed chat', () => {
  test('has each part once, wherever in the answer its page was loaded [vercel/ai#18457] [vercel/ai#18107]', async () => {
    const { session, agent } = await scene();
    const deltas = answerDeltas();
    const middle = Math.floor(deltas.length / 2);
    const chunks = await modelAnswer(
      { reasoning: ['Look ', 'it up.'], before: deltas.slice(0, middle), after: deltas.slice(middle) },
      'a1',
    );
    const { pace, done } = agent.answer(chunks);
    const open: OpenChat[] = [];
    const ends: Promise<void>[] = [];
    const step = Math.floor(chunks.length / 13);
    for (let index = 0; index < 12; index += 1) {
      const page = await openChat(place, session);
      open.push(page);
      ends.push(page.resume());
      pace.release(step);
      await streams(page);
      // every second one is closed, as a reload does
      if (index % 2 === 0) await page.chat.stop();
    }
    pace.release();
    await done;
    await Promise.all(ends);
    const expected = [userMessage('u1', question), await messageOf(chunks)];
    for (const { chat, loaded } of open.filter((_, index) => index % 2 === 1)) {
      expect(loaded).toEqual([userMessage('u1', question)]);
      expect(plain(chat.messages)).toEqual(expected);
      expect(chat.status).toBe('ready');
    }
    const last = await openChat(place, session);
    await last.resume();
    expect(plain(last.chat.messages)).toEqual(expected);
    expect(last.finished).toEqual([]);
    expect(textOf(last.chat.messages[1] ?? userMessage('', ''))).toBe(deltas.join(''));
    await noSubscribers(place, session);
  });

  test('goes on in the same page after a stop, each part once', async () => {
    const { session, agent } = await scene();
    const chunks = await modelAnswer({ before: ['one ', 'two ', 'three '], after: ['four'] });
    const { pace, done } = agent.answer(chunks);
    const page = await openChat(place, session);
    for (let index = 0; index < 4; index += 1) {
      pace.release(4);
      const resuming = page.resume();
      await streams(page);
      await page.chat.stop();
      await resuming;
    }
    const resuming = page.resume();
    pace.release();
    await Promise.all([done, resuming]);
    const expected = await messageOf(chunks);
    expect(plain(page.chat.messages)).toEqual([userMessage('u1', question), { ...expected, id: 'message-2' }]);
  });

  test('goes on in the same page after a stop in the midst of a tool call, each part once', async () => {
    const { session, agent } = await scene();
    const chunks = await modelAnswer({ reasoning: ['Look it up.'], before: ['Let me see.'], after: ['21 °C.'] }, 'a1');
    const { pace, done } = agent.answer(chunks);
    const page = await openChat(place, session);
    const calls = (state: string): boolean =>
      page.chat.messages.at(-1)?.parts.some((part) => 'toolCallId' in part && part.state === state) === true;
    pace.release(chunks.findIndex(({ type }) => type === 'tool-input-delta') + 1);
    const stopped = page.resume();
    await eventually('the call begins', () => calls('input-streaming'));
    await page.chat.stop();
    await stopped;
    expect(calls('input-streaming')).toBe(true);
    const resuming = page.resume();
    pace.release();
    await Promise.all([done, resuming]);
    expect(plain(page.chat.messages)).toEqual([userMessage('u1', question), await messageOf(chunks)]);
  });

  test('has the whole answer when that ended while the resume was set up [vercel/ai#6224]', async () => {
    const { session, agent } = await scene();
    const chunks = await modelAnswer({ before: ['Let me see.'], after: ['21 °C.'] }, 'a1');
    const { pace, done } = agent.answer(chunks);
    pace.release(5);
    await eventually('it has begun', () => pace.taken === 5);
    await agent.producer.flush();
    const page = await openChat(place, session);
    expect(page.loaded).toEqual([userMessage('u1', question)]);
    pace.release();
    await done;
    await page.resume();
    expect(plain(page.chat.messages)).toEqual([userMessage('u1', question), await messageOf(chunks)]);
    expect(page.finished).toHaveLength(1);
    await page.resume();
    expect(page.finished).toHaveLength(1);
  });

  test('waits for the answer to what the user said last', async () => {
    const { session, agent } = await scene();
    const page = await openChat(place, session);
    const resuming = page.resume();
    await eventually('somebody waits', async () => (await subscribersOf(place, session)) > 0);
    expect(page.chat.status).toBe('submitted');
    await agent.chunks({ type: 'start', messageId: 'a1' }, ...textChunks('t', 'Good.'), { type: 'finish' });
    await resuming;
    expect(page.chat.messages.map(textOf)).toEqual([question, 'Good.']);
  });

  test('shows what it missed between two resumes, answer for answer', async () => {
    const { session, agent } = await scene();
    const page = await openChat(place, session);
    for (const id of ['a1', 'a2']) {
      await agent.chunks({ type: 'start', messageId: id }, ...textChunks('t', id), { type: 'finish' });
      await agent.say(`after-${id}`, 'And?');
    }
    const resuming = page.resume();
    await eventually('it waits for the third', async () => (await subscribersOf(place, session)) > 0);
    await agent.chunks({ type: 'start', messageId: 'a3' }, ...textChunks('t', 'a3'), { type: 'finish' });
    await resuming;
    expect(page.chat.messages.map(({ id }) => id)).toEqual(['u1', 'a1', 'a2', 'a3']);
    expect(page.chat.messages.slice(1).map(textOf)).toEqual(['a1', 'a2', 'a3']);
  });

  test('finds the beginning of an answer of several pages, without a cursor', async () => {
    const { session, agent } = await scene();
    const deltas = Array.from({ length: 2_500 }, (_, index) => `${index} `);
    await agent.tell('note', 'before');
    await agent.chunks({ type: 'start' }, { type: 'text-start', id: 't' });
    await agent.chunks(...deltas.map((delta): UIMessageChunk => ({ type: 'text-delta', id: 't', delta })));
    const page = await openChat(place, session, { messages: [userMessage('u1', question)] });
    const resuming = page.resume();
    await streams(page);
    await agent.chunks({ type: 'text-end', id: 't' }, { type: 'finish' });
    await resuming;
    expect(page.chat.messages.map(textOf)).toEqual([question, deltas.join('')]);
  });

  test('begins a message again with all its runs when the agent goes on with it', async () => {
    const { session, agent } = await scene();
    const first: UIMessageChunk[] = [
      { type: 'start', messageId: 'a1' },
      { type: 'start-step' },
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 'book', input: { seats: 2 } },
      { type: 'tool-approval-request', approvalId: 'p1', toolCallId: 'c1' },
      { type: 'finish-step' },
      { type: 'finish' },
    ];
    const second: UIMessageChunk[] = [
      { type: 'start', messageId: 'a1' },
      { type: 'tool-output-available', toolCallId: 'c1', output: 'booked' },
      ...textChunks('t', 'Done.'),
      { type: 'finish' },
    ];
    await agent.chunks(...first, ...second.slice(0, 3));
    const expected = [userMessage('u1', question), await messageOf([...first, ...second])];
    const [loading, own] = [await openChat(place, session), await openChat(place, session, { messages: [] })];
    expect(plain(loading.loaded)).toEqual([userMessage('u1', question), await messageOf(first)]);
    const resuming = [loading.resume(), own.resume()];
    await Promise.all([streams(loading), streams(own)]);
    await agent.chunks(...second.slice(3));
    await Promise.all(resuming);
    expect(plain(loading.chat.messages)).toEqual(expected);
    expect(plain(own.chat.messages)).toEqual(expected.slice(1));
    expect(plain((await openChat(place, session)).loaded)).toEqual(expected);
  });

  test('stops following when it is stopped', async () => {
    const { session, agent } = await scene();
    await agent.chunks({ type: 'start' }, { type: 'text-start', id: 't' });
    const page = await openChat(place, session);
    const resuming = page.resume();
    await streams(page);
    await eventually('it follows', async () => (await subscribersOf(place, session)) === 1);
    await page.chat.stop();
    await resuming;
    await noSubscribers(place, session);
  });

  test('has an error when the agent has one, and does not meet it again', async () => {
    const { session, agent } = await scene();
    await agent.chunks({ type: 'start', messageId: 'a1' }, ...textChunks('t', 'Well'));
    const page = await openChat(place, session);
    const resuming = page.resume();
    await streams(page);
    await agent.chunks({ type: 'error', errorText: 'An error occurred.' });
    await resuming;
    expect(page.chat.error?.message).toBe('An error occurred.');
    expect(page.chat.messages.map(textOf)).toEqual([question, 'Well']);
    page.chat.clearError();
    await page.resume();
    expect(page.chat.status).toBe('ready');
  });

  test('has an error when its turn failed without a word', async () => {
    const { session, agent } = await scene();
    await agent.tell('turn.started', { turn: 't1', attempt: 1 });
    const page = await openChat(place, session);
    const resuming = page.resume();
    await eventually('somebody waits', async () => (await subscribersOf(place, session)) > 0);
    await agent.tell('turn.failed', { turn: 't1', attempt: 1, error: { code: 'crashed', message: 'Out of luck.' } });
    await resuming;
    expect(page.chat.error?.message).toBe('Out of luck.');
  });

  test('ends with its session', async () => {
    const { session, agent } = await scene();
    await agent.chunks({ type: 'start', messageId: 'a1' }, { type: 'text-start', id: 't' });
    await agent.chunks({ type: 'text-delta', id: 't', delta: 'Good' });
    const page = await openChat(place, session);
    const resuming = page.resume();
    await streams(page);
    await closeSession(place, session);
    await resuming;
    expect(page.chat.status).toBe('ready');
    expect(page.chat.messages.map(textOf)).toEqual([question, 'Good']);
  });

  test('has what was said before its session was closed while the resume was set up', async () => {
    const { session, agent } = await scene();
    await agent.chunks({ type: 'start', messageId: 'a1' }, ...textChunks('t', 'Good'));
    const page = await openChat(place, session);
    await closeSession(place, session);
    await page.resume();
    expect(page.chat.messages.map(textOf)).toEqual([question, 'Good']);
    const later = await openChat(place, session);
    expect(later.loaded.map(textOf)).toEqual([question, 'Good']);
  });
});

describe('there is nothing to resume', () => {
  const start: UIMessageChunk = { type: 'start', messageId: 'a1' };
  const ends: readonly (readonly [string, (of: Awaited<ReturnType<typeof scene>>) => Promise<unknown>])[] = [
    ['it finished', ({ agent }) => agent.chunks({ type: 'finish' })],
    ['it was aborted', ({ agent }) => agent.chunks({ type: 'abort' })],
    ['it broke', ({ agent }) => agent.chunks({ type: 'error', errorText: 'no' })],
    ['its turn completed', ({ agent }) => agent.tell('turn.completed', { turn: 't1', attempt: 1 })],
    ['its turn failed', ({ agent }) => agent.tell('turn.failed', { turn: 't1', attempt: 1 })],
    ['its turn was cancelled', ({ agent }) => agent.tell('turn.cancelled', { turn: 't1', attempt: 1 })],
    ['its session was closed', ({ session }) => closeSession(place, session)],
    ['its session was deleted', ({ session }) => deleteSession(place, session)],
  ];

  test.each(ends)('of an answer when %s', async (_, end) => {
    const stage = await scene();
    await stage.agent.chunks(start, ...textChunks('t', 'Good'));
    await end(stage);
    const page = await openChat(place, stage.session, { messages: [userMessage('u1', question)] });
    await page.resume();
    expect(page.chat.status).toBe('ready');
    expect(page.chat.messages).toEqual([userMessage('u1', question)]);
  });

  test.each(ends.slice(0, 7))('of an answer when %s, which is loaded as far as it came', async (_, end) => {
    const stage = await scene();
    await stage.agent.chunks(start, ...textChunks('t', 'Good'));
    await end(stage);
    const page = await openChat(place, stage.session);
    expect(page.loaded.map(textOf)).toEqual([question, 'Good']);
    await page.resume();
    expect(page.chat.status).toBe('ready');
    expect(page.finished).toEqual([]);
  });

  test('of a session that is not there, or has nothing in it', async () => {
    for (const session of ['not-there', await newSession(place)]) {
      const page = await openChat(place, session);
      await page.resume();
      expect(page.chat.status).toBe('ready');
      expect(page.chat.messages).toEqual([]);
    }
  });
});

test('a token that does not reach is an error of the chat', async () => {
  const { session } = await scene();
  const page = await openChat(place, session, { messages: [], token: 'no token at all' });
  await page.resume();
  expect(page.chat.error).toMatchObject({ name: 'FollowError', code: 'refused', status: 401 });
});

test('a chat may have another name than its session', async () => {
  const { session, agent } = await scene();
  await agent.chunks({ type: 'start', messageId: 'a1' }, ...textChunks('t', 'Good'));
  const page = await openChat(place, 'chat-7', { messages: [], session: () => session });
  const resuming = page.resume();
  await streams(page);
  await agent.chunks({ type: 'finish' });
  await resuming;
  expect(page.chat.messages.map(textOf)).toEqual(['Good']);
});
