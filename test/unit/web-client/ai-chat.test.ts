/** What a chat makes of a session's events: whichever way it came to them, and wherever it was cut, the same messages. */
import { Chat } from '@ai-sdk/react';
import { readUIMessageStream } from 'ai';
import type { UIMessage } from 'ai';
import fc from 'fast-check';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createChatTransport, loadMessages } from '../../../web-client/src/ai.ts';
import { replayOf } from '../../../web-client/src/chat-entry.ts';
import { cursorOf, findOpen } from '../../../web-client/src/chat-history.ts';
import { createChatLog } from '../../../web-client/src/chat-log.ts';
import { createReplyLog } from '../../../web-client/src/chat-reply.ts';
import { systemClock } from '../../../web-client/src/clock.ts';
import type { SessionEvent } from '../../../web-client/src/session-event.ts';
import { createSessionServer } from '../../../web-client/src/session-server.ts';
import { plain, textOf } from '../../support/ai-chat.ts';
import { ScriptedSession, frames } from '../../support/scripted-session.ts';
import { toldChat } from '../../support/told-chat.ts';
import { numbered } from '../../support/told-session.ts';

const url = 'http://ledgerline.test';
const never = new AbortController().signal;

function logOf(events: readonly SessionEvent[]) {
  const log = createChatLog();
  for (const event of events) log.take(event);
  return log;
}

function sessionOf(events: readonly SessionEvent[]): ScriptedSession {
  const session = new ScriptedSession();
  session.events.push(...events);
  return session;
}

/** A page also ends at its bytes, so it may be as short as it likes. */
const pagedServer = ({ fetch }: ScriptedSession, most: number) =>
  createSessionServer({
    url,
    session: 's1',
    fetch: (input, init) => fetch((input as string).replace(/limit=\d+/, `limit=${most}`), init),
  });

const load = (session: ScriptedSession) =>
  loadMessages({ url, session: 's1', fetch: session.fetch, readUIMessageStream });

const answersOf = (messages: readonly UIMessage[]) => messages.filter(({ role }) => role === 'assistant');

test('the messages that are loaded are the answers that stand, in their order', async () => {
  await fc.assert(
    fc.asyncProperty(toldChat, async ({ events, answers }) => {
      const { messages, cursor } = await load(sessionOf(events));
      expect(cursor).toBe(events.length);
      expect(answersOf(messages).map(textOf)).toEqual(answers.map(({ text }) => text));
      for (const [index, { id }] of answers.entries()) {
        if (id !== undefined) expect(answersOf(messages)[index]?.id).toBe(id);
      }
      const ids = messages.map(({ id }) => id);
      expect(new Set(ids).size).toBe(ids.length);
    }),
    { numRuns: 100 },
  );
});

test('paging back finds what is being written, no matter where the pages are cut', async () => {
  await fc.assert(
    fc.asyncProperty(toldChat, fc.nat(), fc.integer({ min: 1, max: 7 }), async ({ events }, cut, most) => {
      const known = events.slice(0, cut % (events.length + 1));
      const session = sessionOf(known);
      const found = await findOpen(pagedServer(session, most), systemClock, never);
      const whole = logOf(known);
      expect(found.last).toBe(known.length);
      expect(found.log.isBusy).toBe(whole.isBusy);
      expect(found.log.open?.chunks).toEqual(whole.open?.chunks);
      // An answer whose turn waits is gone on with: it is read from its beginning.
      if (!whole.isBusy) expect(found.cursor).toBe(cursorOf(whole, known.length));
      else if (whole.open !== undefined) {
        const answer = whole.entries.filter((entry) => entry.kind === 'answer' && entry.runs.includes(whole.open!));
        expect(replayOf(found.log.entries).slice(-replayOf(answer).length)).toEqual(replayOf(answer));
        expect(found.cursor).toBeGreaterThanOrEqual(cursorOf(whole, known.length));
      }
    }),
    { numRuns: 100 },
  );
});

test.each([1, 2, 3, 100])('and all runs of a message that the agent goes on with, in pages of %i', async (most) => {
  const chunks = [
    { type: 'start', messageId: 'other' },
    { type: 'finish' },
    { type: 'start', messageId: 'a1' },
    { type: 'error', errorText: 'no' },
    { type: 'start', messageId: 'a1' },
    { type: 'text-start', id: 't' },
  ];
  const session = sessionOf(numbered(chunks.map((data) => ({ type: 'ui.chunk', data }))));
  const found = await findOpen(pagedServer(session, most), systemClock, never);
  expect(found.cursor).toBe(2);
  expect(replayOf(found.log.entries)).toEqual([chunks[2], chunks[4], chunks[5]]);
});

test.each([1, 2, 3, 100])('and the whole of an answer whose turn waits, in pages of %i', async (most) => {
  const session = sessionOf(
    numbered([
      { type: 'turn.started', data: { turn: 't0', attempt: 1 } },
      { type: 'ui.chunk', data: { type: 'start', messageId: 'a1' } },
      { type: 'ui.chunk', data: { type: 'finish' } },
      { type: 'turn.waiting', data: { turn: 't0', attempt: 1 } },
    ]),
  );
  const found = await findOpen(pagedServer(session, most), systemClock, never);
  expect([found.cursor, found.last, found.log.isBusy]).toEqual([1, 4, false]);
});

test('loaded at any moment, resumed at any other, cut at any third: at its end a chat has each part once', async () => {
  await fc.assert(
    fc.asyncProperty(toldChat, fc.array(fc.nat(), { minLength: 3, maxLength: 8 }), async ({ events }, numbers) => {
      const cuts = numbers.map((number) => number % (events.length + 1)).toSorted((a, b) => a - b);
      const session = sessionOf(events.slice(0, cuts[0]));
      const { messages, cursor } = await load(session);
      const transport = createChatTransport({ url, share: false, fetch: session.fetch, after: cursor });
      const chat = new Chat<UIMessage>({ id: 's1', messages, transport });
      const reach = (to: number | undefined): void => {
        const from = session.head;
        session.events.push(...events.slice(from, to));
        for (const visit of session.open) visit.say(session.text(from));
      };
      for (const [index, cut] of cuts.slice(1).entries()) {
        reach(cut);
        if (index % 3 === 2) await chat.stop();
        chat.clearError();
        if (chat.status === 'ready') void chat.resumeStream();
        for (let turns = numbers[index] ?? 0; turns % 16 > 0; turns -= 1) await turn();
      }
      reach(undefined);
      session.state = 'closed';
      session.receive = (visit) => {
        session.serve(visit);
        visit.say(frames.end(session.head));
        visit.end();
      };
      for (const visit of session.open) {
        visit.say(frames.end(session.head));
        visit.end();
      }
      while (chat.status !== 'ready' && chat.status !== 'error') await turn();
      chat.clearError();
      await chat.resumeStream();
      chat.clearError();
      await chat.resumeStream();
      const whole = (await load(session)).messages;
      const shown = chat.messages.filter(({ parts }) => parts.length > 0);
      expect(plain(answersOf(shown))).toEqual(plain(answersOf(whole)));
      expect(session.open).toEqual([]);
    }),
    { numRuns: 100 },
  );
});

test.each(['failed', 'in_doubt'])(
  'an answer whose turn is %s ends with an error, and is waited for no more',
  (state) => {
    const reply = createReplyLog(1);
    const changes = numbered(
      [
        { type: 'turn.started', data: { turn: 't1', attempt: 1, inputs: [1] }, turn: 't1', attempt: 1 },
        { type: `turn.${state}`, data: { turn: 't1', attempt: 1, inputs: [1], step: 1 }, turn: 't1', attempt: 1 },
      ],
      2,
    ).flatMap((event) => reply.take(event));
    expect(changes).toMatchObject([{ kind: 'chunk', chunk: { type: 'error' } }]);
    expect(reply.isBusy).toBe(false);
  },
);
