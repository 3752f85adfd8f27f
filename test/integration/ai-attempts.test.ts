/** What an abandoned attempt said leaves the screen of a chat of the real AI SDK when the next attempt speaks. */
import type { UIMessageChunk } from 'ai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { messageOf, openChat, plain, startAgent, textChunks, textOf, userMessage } from '../support/ai-chat.ts';
import type { Agent, ChatPlace, OpenChat } from '../support/ai-chat.ts';
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

const user = userMessage('u1', 'How is the weather?');

/** Two steps, so that no chunk of the SDK takes all of it back. */
const firstTry = (messageId?: string): UIMessageChunk[] => [
  { type: 'start', ...(messageId === undefined ? {} : { messageId }) },
  { type: 'start-step' },
  { type: 'reasoning-start', id: 'r' },
  { type: 'reasoning-delta', id: 'r', delta: 'Look it up.' },
  { type: 'reasoning-end', id: 'r' },
  { type: 'tool-input-available', toolCallId: 'c1', toolName: 'weather', input: { city: 'Zürich' } },
  { type: 'tool-output-available', toolCallId: 'c1', output: 21 },
  { type: 'finish-step' },
  { type: 'start-step' },
  { type: 'text-start', id: 't' },
  { type: 'text-delta', id: 't', delta: 'It is twen' },
];

const secondTry = (messageId?: string): UIMessageChunk[] => [
  { type: 'start', messageMetadata: { try: 2 }, ...(messageId === undefined ? {} : { messageId }) },
  { type: 'start-step' },
  ...textChunks('t', 'It is ', '21 °C.'),
  { type: 'finish-step' },
  { type: 'finish', finishReason: 'stop' },
];

async function scene() {
  const session = await newSession(place);
  const agent = startAgent(place, session);
  await agent.say('u1', 'How is the weather?');
  return { session, agent, turn: turnsOf(agent) };
}

const turnsOf = (agent: Agent) => (attempt: number) => agent.tell('turn.started', { turn: 't1', attempt });

const shows = ({ chat }: OpenChat, text: string): Promise<unknown> =>
  eventually(`the chat shows ${text}`, () => chat.messages.some((message) => textOf(message) === text));

const withParts = ({ chat }: OpenChat) => plain(chat.messages.filter(({ parts }) => parts.length > 0));

describe('a newer attempt', () => {
  test.each([
    ['under an id of its own', 'a1', 'a2', ['a1']],
    ['under the same id', 'a1', 'a1', ['a1-abandoned']],
    ['without an id', undefined, undefined, ['message-3']],
  ])('%s takes the place of what the older one said', async (_, firstId, secondId, leftovers) => {
    const { session, agent, turn } = await scene();
    await turn(1);
    await agent.chunks(...firstTry(firstId));
    const page = await openChat(place, session);
    const resuming = page.resume();
    await shows(page, 'It is twen');
    await turn(2);
    const second = secondTry(secondId);
    await agent.chunks(...second.slice(0, 4));
    await shows(page, 'It is ');
    expect(JSON.stringify(page.chat.messages)).not.toMatch(/twen|Look it up|weather"/);
    expect(page.chat.status).toBe('streaming');
    await agent.chunks(...second.slice(4));
    await agent.tell('turn.completed', { turn: 't1', attempt: 2 });
    await resuming;
    const expected = [user, { ...(await messageOf(second)), id: secondId ?? 'message-15' }];
    expect(withParts(page)).toEqual(expected);
    expect(page.abandoned).toEqual(leftovers);
    expect(page.chat.messages.filter(({ parts }) => parts.length === 0).map(({ id }) => id)).toEqual(leftovers);
    // a page that is loaded later knows nothing of it
    expect(plain((await openChat(place, session)).loaded)).toEqual(expected);
    await noSubscribers(place, session);
  });

  test('leaves no message behind when the page takes it out', async () => {
    const { session, agent, turn } = await scene();
    await turn(1);
    await agent.chunks(...firstTry('a1'));
    const page: OpenChat = await openChat(place, session, {
      onAbandoned(messageId) {
        page.chat.messages = page.chat.messages.filter(({ id }) => id !== messageId);
      },
    });
    const resuming = page.resume();
    await shows(page, 'It is twen');
    await turn(2);
    await agent.chunks(...secondTry('a2'));
    await resuming;
    expect(plain(page.chat.messages)).toEqual([user, await messageOf(secondTry('a2'))]);
  });

  test('that says nothing before its turn ends leaves nothing of the older one', async () => {
    const { session, agent, turn } = await scene();
    await turn(1);
    await agent.chunks(...firstTry('a1'));
    const page = await openChat(place, session);
    const resuming = page.resume();
    await shows(page, 'It is twen');
    await turn(2);
    await agent.tell('turn.cancelled', { turn: 't1', attempt: 2 });
    await resuming;
    expect(withParts(page)).toEqual([user]);
    expect(page.chat.status).toBe('ready');
    expect(page.abandoned.toSorted()).toEqual(['a1', 'a1-abandoned']);
  });

  test('is all that a page shows that resumes later, and so on from attempt to attempt', async () => {
    const { session, agent, turn } = await scene();
    for (const attempt of [1, 2, 3]) {
      await turn(attempt);
      await agent.chunks(...firstTry(`a${attempt}`));
    }
    const [page, own] = [await openChat(place, session), await openChat(place, session, { messages: [user] })];
    const resuming = [page.resume(), own.resume()];
    await Promise.all([shows(page, 'It is twen'), shows(own, 'It is twen')]);
    expect(page.chat.messages.map(({ id }) => id)).toEqual(['u1', 'a3']);
    await turn(4);
    await agent.chunks(...secondTry('a4'));
    await Promise.all(resuming);
    const expected = [user, await messageOf(secondTry('a4'))];
    expect(withParts(page)).toEqual(expected);
    expect(withParts(own)).toEqual(expected);
    expect([...page.abandoned, ...own.abandoned]).toEqual(['a3', 'a3']);
  });

  test('keeps what earlier turns said in the same message', async () => {
    const { session, agent } = await scene();
    const asked: UIMessageChunk[] = [
      { type: 'start', messageId: 'a1' },
      { type: 'tool-input-available', toolCallId: 'c1', toolName: 'book', input: {} },
      { type: 'tool-approval-request', approvalId: 'p1', toolCallId: 'c1' },
      { type: 'finish' },
    ];
    const turn = turnsOf(agent);
    await agent.tell('turn.started', { turn: 't0', attempt: 1 });
    await agent.chunks(...asked);
    await agent.tell('turn.completed', { turn: 't0', attempt: 1 });
    await turn(1);
    await agent.chunks({ type: 'start', messageId: 'a1' }, ...textChunks('t', 'Boo').slice(0, 2));
    const page = await openChat(place, session);
    const resuming = page.resume();
    await shows(page, 'Boo');
    await turn(2);
    await agent.chunks(...secondTry('a1'));
    await resuming;
    const expected = [user, await messageOf([...asked, ...secondTry('a1')])];
    expect(withParts(page)).toEqual(expected);
    expect(plain((await openChat(place, session)).loaded)).toEqual(expected);
  });
});
