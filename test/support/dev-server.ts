/** A development server in a process of its own, to talk to, to restart and to kill. */
import { onTestFinished } from 'vitest';
import { startCli } from './cli.ts';
import type { Cli } from './cli.ts';
import { freshDatabase } from './services.ts';
import { workingFolder } from './stage.ts';
import { eventually } from './waits.ts';

/** The first start makes the schema. */
const START_DEADLINE_MS = 50_000;

interface Server {
  readonly public: string;
  readonly token: string;
}

export interface Told {
  readonly type: string;
  readonly data: Record<string, unknown>;
}

export interface Home {
  readonly folder: string;
  readonly environment: Readonly<Record<string, string>>;
}

export async function home(environment: Readonly<Record<string, string>> = {}): Promise<Home> {
  const database = await freshDatabase({ isEmpty: true });
  onTestFinished(() => database.drop());
  return { folder: workingFolder(), environment: { DATABASE_URL: database.url, ...environment } };
}

export async function dev(at: Home, { session = 's1', options = ['--no-demo'] } = {}) {
  const cli: Cli = startCli(['dev', '--port', '0', '--internal-port', '0', ...options], at);
  const greeted = () => {
    const found = /http:\S+(?=\/\S*#token=)/.exec(cli.stdout());
    return found !== null && ([found[0], /#token=(\S+)/.exec(cli.stdout())?.[1] ?? ''] as const);
  };
  const [address, token] = await eventually('it greets', greeted, START_DEADLINE_MS);
  const server: Server = { public: address, token };
  async function ask(method: string, path: string, body?: object): Promise<unknown> {
    const answer = await fetch(`${server.public}${path}`, {
      method,
      headers: { authorization: `Bearer ${server.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
    return answer.json();
  }
  const events = async (): Promise<readonly Told[]> =>
    ((await ask('GET', `/sessions/${session}/events?limit=1000`)) as { events: Told[] }).events;
  await ask('POST', '/sessions', { session });
  return {
    cli,
    ask,
    events,
    say: (content: string) =>
      ask('POST', `/sessions/${session}/messages`, { key: content.replaceAll(/\W/g, '-'), content }),
    decide: async (decision: 'approved' | 'denied') => {
      const asked = (await events()).findLast((event) => event.type === 'approval.required');
      await ask('POST', `/sessions/${session}/decisions`, { approval: asked?.data['approval'], decision });
    },
    until: (type: string) => eventually(type, async () => (await events()).find((event) => event.type === type)),
  };
}
