/** The demo's agent asks a model that is not there, is busy, breaks off, or answers; and the session shows what came of it. */
import { expect, test } from 'vitest';
import { demoAgent } from '../../src/cli/demo-agent.ts';
import type { Pause } from '../../src/cli/demo-agent-speech.ts';
import { VISITOR, messageKey } from '../../src/cli/demo-cast.ts';
import { silentLog } from '../../src/base/log.ts';
import { readRefunds } from '../../src/example/books.ts';
import { migrateExample } from '../../src/example/tables.ts';
import { withSql } from '../support/ledger.ts';
import { scriptedProvider, toolCall, words } from '../support/scripted-provider.ts';
import type { ProviderAnswer, ScriptedProvider } from '../support/scripted-provider.ts';
import { recordedStreams } from '../support/streams.ts';
import { eventually } from '../support/waits.ts';
import { workplace } from '../support/workplace.ts';
import type { Workplace } from '../support/workplace.ts';

interface Scene {
  readonly place: Workplace;
  readonly session: string;
  readonly provider: ScriptedProvider;
  /** The data of every event of a type. */
  all(type: string): Promise<Record<string, unknown>[]>;
  until(type: string, count?: number): Promise<Record<string, unknown>[]>;
}

const scene = (...answers: readonly ProviderAnswer[]): Promise<Scene> => sceneAt(undefined, answers);

async function sceneAt(pause: Pause | undefined, answers: readonly ProviderAnswer[]): Promise<Scene> {
  const provider = await scriptedProvider(...answers);
  const place = await workplace();
  const session = await place.session();
  await migrateExample(place.url, silentLog);
  const { run, tools } = demoAgent({ baseUrl: provider.url, key: 'a-key', model: 'test-model' }, pause);
  await place.worker(run, { maxAttempts: 2, tools });
  const all = async (type: string) =>
    (await place.told(session))
      .filter((event) => event.type === type)
      .map(({ data }) => data as Record<string, unknown>);
  const until = (type: string, count = 1) =>
    eventually(`${type}, ${count} times`, async () => {
      const found = await all(type);
      return found.length >= count && found;
    });
  return { place, session, provider, all, until };
}

const chunks = (list: readonly string[]): ProviderAnswer => ({ kind: 'chunks', chunks: list });

interface Completion {
  readonly choices?: readonly { readonly delta?: { readonly content?: string | null } }[];
}

/** What a recording of chat completions says; undefined for one of another kind. */
function spoken(list: readonly string[]): string | undefined {
  const parsed = list.map((text) => JSON.parse(text) as Completion);
  if (!parsed.every(({ choices }) => choices !== undefined)) return undefined;
  const text = parsed.map(({ choices }) => choices?.[0]?.delta?.content ?? '').join('');
  return text === '' ? undefined : text;
}

test('what a model says arrives word by word, as it was recorded, and is the conversation of the next question', async () => {
  const made = words('Number ', 'your ', 'events', '. \ud83d\ude80');
  const recorded = (recordedStreams() ?? [])
    .map((stream) => stream.chunks)
    .filter((list) => spoken(list) !== undefined);
  const answers = [made, ...recorded];
  const { place, session, provider, until, all } = await scene(...answers.map(chunks));
  for (const [index, list] of answers.entries()) {
    await place.say(session, `question ${index + 1}`);
    const completed = await until('turn.completed', index + 1);
    expect(completed).toHaveLength(index + 1);
    const answer = (await all('message.completed')).at(-1);
    expect(answer).toMatchObject({ role: 'assistant', content: spoken(list) });
    const deltas = (await all('text.delta')).filter(({ message }) => message === answer?.['message']);
    expect(deltas.map(({ text }) => text).join('')).toBe(spoken(list));
  }
  expect(provider.asked.map(({ authorization }) => authorization)).toEqual(answers.map(() => 'Bearer a-key'));
  const { body } = provider.asked.at(-1)!;
  expect(body.model).toBe('test-model');
  const said = answers.flatMap((list, index) => [
    { role: 'user', content: `question ${index + 1}` },
    { role: 'assistant', content: spoken(list) },
  ]);
  expect(body.messages.slice(1)).toEqual(said.slice(0, -1));
});

test('the demo’s story asks no model, which answers a person who joins it and knows what was said before', async () => {
  let goOn!: () => void;
  const joined = new Promise<void>((resolve) => (goOn = resolve));
  const { place, session, provider, until } = await sceneAt(() => joined, [chunks(words('Of course.'))]);
  const content = 'My tank is cracked.';
  await place.turns.request({ session, key: messageKey('one', 1), content, onBusy: 'reject', by: VISITOR });
  await until('turn.started');
  await place.say(session, 'And mine?', 'steer');
  expect(provider.asked).toEqual([]);
  goOn();
  await until('turn.completed');
  expect(provider.asked.map(({ body }) => body.messages.slice(1))).toEqual([
    [
      { role: 'user', content },
      { role: 'user', content: 'And mine?' },
    ],
  ]);
});

const refundsOf = async ({ place }: Scene): Promise<[string, number][]> =>
  (await withSql(place.url, readRefunds)).map(({ key, cents }) => [key, cents]);

test.each(['approved', 'denied'] as const)(
  'a refund waits until it is %s, and the model hears of it',
  async (decision) => {
    const args = { order: '7731', cents: 40 };
    const here = await scene(
      chunks([...words('Let me see. ').slice(0, -1), ...toolCall('call_1', 'issue_refund', args)]),
      chunks(words('So be it.')),
    );
    const { place, session, provider, until, all } = here;
    await place.say(session, 'It came late');
    await until('turn.waiting');
    const [asked] = await all('approval.required');
    const reason = 'The agent wants to refund €0.40 of order 7731.';
    expect(asked).toMatchObject({ tool: 'issue_refund', args, call: 'call_1', reason });
    expect(await all('tool.result')).toEqual([]);
    await place.turns.decide(session, { approval: String(asked?.['approval']), decision, by: 'maya', comment: 'hm' });
    const [{ turn } = {}] = await until('turn.completed');
    expect(await all('message.completed')).toMatchObject([{ content: 'Let me see. ' }, { content: 'So be it.' }]);
    const key = `v1:${String(turn)}:1`;
    const [result, refunds, told] =
      decision === 'approved'
        ? [{ refund: key, ...args }, [[key, 40]], [{ call: 'call_1', step: 1 }]]
        : [{ error: { code: 'denied', message: 'maya did not approve it: “hm”.' } }, [], []];
    expect(await refundsOf(here)).toEqual(refunds);
    expect(await all('tool.result')).toMatchObject(told);
    expect(provider.asked).toHaveLength(2);
    expect(provider.asked[1]?.body.messages.slice(1)).toMatchObject([
      { role: 'user', content: 'It came late' },
      { role: 'assistant', content: 'Let me see. ' },
      {
        role: 'assistant',
        tool_calls: [{ id: 'call_1', function: { name: 'issue_refund', arguments: JSON.stringify(args) } }],
      },
      { role: 'tool', tool_call_id: 'call_1', content: JSON.stringify(result) },
    ]);
  },
);

test('a refund that is none is refused, the model hears why, and nobody is asked', async () => {
  const here = await scene(
    chunks(toolCall('call_1', 'issue_refund', { order: '7731', cents: 40.5 })),
    chunks(words('Sorry.')),
  );
  await here.place.say(here.session, 'It came late');
  await here.until('turn.completed');
  expect(await here.all('tool.result')).toMatchObject([{ error: { code: 'invalid_arguments' } }]);
  expect(here.provider.asked[1]?.body.messages.at(-1)).toMatchObject({ content: expect.stringContaining('cents') });
  expect(await here.all('approval.required')).toEqual([]);
  expect(await refundsOf(here)).toEqual([]);
});

test('a model whose answer was journaled is not asked again, and what it asked for happens once', async () => {
  const refund = toolCall('call_1', 'issue_refund', { order: '7731', cents: 40 });
  const failure: ProviderAnswer = { kind: 'status', status: 500, message: 'oops' };
  const here = await scene(chunks(refund), failure, chunks(words('Done.')));
  const { place, session, provider, until, all } = here;
  await place.say(session, 'It came late');
  await until('turn.waiting');
  const [asked] = await all('approval.required');
  const approval = String(asked?.['approval']);
  await place.turns.decide(session, { approval, decision: 'approved', by: 'maya', comment: undefined });
  await until('turn.completed');
  // The answer that asks for the refund; the one that failed behind it; and that one again.
  expect(provider.asked).toHaveLength(3);
  expect(await refundsOf(here)).toHaveLength(1);
  const known = (await all('step.done')).filter(({ fromJournal }) => fromJournal === true);
  expect(known).toMatchObject([{ tool: 'issue_refund', step: 1 }]);
});

test('a tool that the agent does not have is an error that the model hears of, and asks nobody', async () => {
  const { place, session, all, until } = await scene(
    chunks(toolCall('call_1', 'launch', { at: 'dawn' })),
    chunks(words('Sorry.')),
  );
  await place.say(session, 'Launch');
  await until('turn.completed');
  expect(await all('tool.result')).toMatchObject([
    { call: 'call_1', error: { code: 'unknown_tool', message: expect.stringContaining('launch') } },
  ]);
  expect(await all('approval.required')).toEqual([]);
});

test.each<[string, string, ProviderAnswer]>([
  ['is busy (429)', 'The model’s server answered 429.', { kind: 'status', status: 429, message: 'slow down' }],
  ['fails (500)', 'The model’s server answered 500.', { kind: 'status', status: 500, message: 'oops' }],
  ['is cut off', 'The model gave no whole answer.', { kind: 'cut', chunks: words('Half an ', 'answer').slice(0, -1) }],
  ['ends without an end', 'The model gave no whole answer.', { kind: 'short', chunks: words('Half an ').slice(0, -1) }],
])(
  'a model that %s is asked once more, with a pause that everybody sees, and its answer counts: %s',
  async (_, message, failure) => {
    const { place, session, provider, all, until } = await scene(failure, chunks(words('A whole answer.')));
    await place.say(session, 'Well?');
    await until('turn.completed');
    expect(await all('turn.retrying')).toMatchObject([
      { reason: 'failed', error: { code: expect.stringMatching(/^model_/), message } },
    ]);
    expect(await all('message.completed')).toMatchObject([{ content: 'A whole answer.' }]);
    expect(provider.asked).toHaveLength(2);
    // What broke off is no part of the conversation.
    expect(provider.asked[1]?.body.messages.slice(1)).toEqual([{ role: 'user', content: 'Well?' }]);
  },
);

test('a model that refuses the key fails the turn at once, and what it said is told to nobody', async () => {
  const { place, session, provider, until } = await scene({ kind: 'status', status: 401, message: 'bad key: a-key' });
  await place.say(session, 'Well?');
  const [failed] = await until('turn.failed');
  expect(failed).toMatchObject({ error: { code: 'model_failed', message: 'The model’s server answered 401.' } });
  expect(provider.asked).toHaveLength(1);
  expect(JSON.stringify(await place.told(session))).not.toContain('a-key');
});

test('a stop ends the request to the model, and what it said stays [vercel/ai#6502]', async () => {
  const { place, session, provider, all, until } = await scene({
    kind: 'hang',
    chunks: words('The first ', 'of many').slice(0, -1),
  });
  await place.say(session, 'Tell me');
  await until('text.delta', 2);
  await place.turns.stop(session, 'maya');
  await until('turn.cancelled');
  await eventually('the request is gone', () => provider.gone === 1);
  expect((await all('text.delta')).map(({ text }) => text).join('')).toBe('The first of many');
});
