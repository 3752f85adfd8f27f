/** Recorded streams of model providers, from one gateway to readers of another: what goes in comes out, to the last byte. */
import { randomUUID } from 'node:crypto';
import { expect, it } from 'vitest';
import { runCli, startCli } from '../support/cli.ts';
import type { RunningGateway } from '../support/gateway.ts';
import { closeSession, createSession } from '../support/gateway-calls.ts';
import { database, gateways, workingFolder } from '../support/stage.ts';
import { recordedStreams } from '../support/streams.ts';

/** What providers are known to send and others to break, for whoever has no recordings. */
const awkward = {
  name: 'awkward',
  chunks: [
    String.raw`{"delta":"a NUL \u0000, half an emoji \ud83d, a line \u2028 end"}`,
    String.raw`{"n":9007199254740993,"m":-0,"e":1e400,"b":2,"a":1,"a":3}`,
    '"{}"',
    'null',
    '[]',
    '"data: id: 7\\n\\nevent: end"',
    '{ "spaces" : [ 1 ,\t2 ] }',
  ],
};

const manyProcesses = { timeout: 180_000 };

it(
  'every recorded stream arrives as it was, at readers that came before it and at readers that came after',
  manyProcesses,
  async () => {
    const streams = [...(recordedStreams() ?? []), awkward];
    const { url } = await database();
    const [writing, reading] = (await gateways(2, { databaseUrl: url })) as [RunningGateway, RunningGateway];
    const folder = workingFolder();
    const producer = {
      folder,
      environment: { LEDGERLINE_INTERNAL_URL: writing.internalUrl, LEDGERLINE_KEY: writing.key },
    };
    const reader = { folder, environment: { LEDGERLINE_URL: reading.publicUrl, LEDGERLINE_TOKEN: reading.token } };

    await inPairs(streams, async ({ name, chunks }) => {
      const session = `${name.replaceAll(/[^A-Za-z0-9_-]/g, '-')}-${randomUUID()}`;
      const tail = ['tail', session, '--data', '--until-end'];
      const input = `${chunks.join('\n')}\n`;
      await createSession(writing, session);
      const early = startCli(tail, reader);
      const appended = await runCli(['append', session, '--type', 'provider.delta'], { ...producer, input });
      expect(appended, name).toMatchObject({ code: 0 });
      expect(appended.stderr, name).toContain(`appended ${chunks.length} events, 1…${chunks.length}`);
      await closeSession(writing, session);
      expect(await early.exit, name).toBe(0);
      const late = await runCli(tail, reader);
      expect(late.code, name).toBe(0);
      expect(early.stdout() === input, `${name}: the early reader's lines are the input's`).toBe(true);
      expect(late.stdout === input, `${name}: the late reader's lines are the input's`).toBe(true);
    });
  },
);

/** Each stream is three processes; more than two at once would only wait for each other. */
async function inPairs<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  for (let index = 0; index < items.length; index += 2) await Promise.all(items.slice(index, index + 2).map(work));
}
