/** SIGTERM under load: every reader is told to go and when to come back, every append in flight is answered. */
import { once } from 'node:events';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import type { RunningGateway } from '../support/gateway.ts';
import { append, metric } from '../support/gateway-calls.ts';
import { countTo, holdHeads, storedRows } from '../support/ledger.ts';
import { database, freshSession, gateway } from '../support/stage.ts';
import { eventually } from '../support/waits.ts';

const STREAMS = 1_000;
const WINDOW_MS = 100_000;
/** However busy the machine: the append in flight is not to be cut off while the readers go. */
const DRAIN_MS = 90_000;

async function openStream(at: RunningGateway, session: string): Promise<{ text: () => string; isOver: () => boolean }> {
  const headers = { authorization: `Bearer ${at.token}` };
  const outgoing = get(`${at.publicUrl}/sessions/${session}/stream`, { agent: false, headers });
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  let text = '';
  response.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  response.on('error', () => undefined);
  outgoing.on('error', () => undefined);
  return { text: () => text, isOver: () => response.closed };
}

it('SIGTERM tells each of 1,000 readers its own slot of the window, answers the appends in flight, and ends with 0', async () => {
  const { url } = await database();
  const at = await gateway({
    databaseUrl: url,
    natsUrl: null,
    environment: { LEDGERLINE_GOAWAY_WINDOW_MS: String(WINDOW_MS), LEDGERLINE_DRAIN_MS: String(DRAIN_MS) },
  });
  const sessions = await Promise.all(countTo(10).map(() => freshSession(at)));
  const streams: Awaited<ReturnType<typeof openStream>>[] = [];
  for (let opened = 0; opened < STREAMS; opened += 50) {
    const batch = countTo(50).map((index) => openStream(at, sessions[index % sessions.length] ?? ''));
    streams.push(...(await Promise.all(batch)));
  }
  expect(await metric(at, 'ledgerline_subscribers')).toBe(STREAMS);

  const [held = '', busy = ''] = sessions;
  const stranger = await holdHeads(url, held);
  let isReleased = false;
  const release = async (): Promise<void> => {
    if (!isReleased) await stranger.release();
    isReleased = true;
  };
  onTestFinished(release);
  const waiting = append(at, held, '"waits for the head"');
  await eventually(
    'the append has arrived',
    async () => (await metric(at, 'ledgerline_commit_group_appends_count')) > 0,
  );
  const acknowledged: string[] = [];
  let isOver = false;
  const load = countTo(10).map(async (writer) => {
    for (let index = 0; !isOver; index++) {
      const payload = `"${writer}-${index}"`;
      // refused or reset at the door, it was never taken in
      const status = await append(at, busy, payload).then(
        (answer) => answer.status,
        () => 'never taken in',
      );
      if (status === 201) acknowledged.push(payload);
      isOver ||= status === 'never taken in';
    }
  });
  await eventually('the load is stored', () => acknowledged.length > 100);

  const exit = at.terminate();
  await eventually('every stream is over', () => streams.every((stream) => stream.isOver()), 60_000);
  await release();
  expect((await waiting).status).toBe(201);
  expect(await exit).toBe(0);
  await Promise.all(load);
  const stored = (await storedRows(url, busy)).map(({ data }) => data);
  const unanswered = new Set(stored);
  for (const payload of acknowledged) unanswered.delete(payload);
  expect([...unanswered], 'what is stored was acknowledged').toEqual([]);
  expect(stored).toHaveLength(acknowledged.length);

  const slots = streams.map((stream) => {
    const goaway = /event: goaway\nretry: (\d+)\nid: \d+\ndata: .*\n\n$/.exec(stream.text());
    return Number(goaway?.[1]);
  });
  expect(slots.filter((slot) => !(slot >= 0 && slot <= WINDOW_MS))).toEqual([]);
  // spread: no tenth of the window has twice its share
  const tenths = countTo(10).map(
    (tenth) => slots.filter((slot) => Math.ceil((slot / WINDOW_MS) * 10) === tenth).length,
  );
  expect(Math.min(...tenths)).toBeGreaterThan(STREAMS / 20);
  expect(Math.max(...tenths)).toBeLessThan(STREAMS / 5);
});
