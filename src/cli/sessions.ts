/** `ledgerline sessions`: the sessions within reach, the latest activity first. */
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { limits } from '../base/limits.ts';
import { anyTarget, request, understood } from './client.ts';
import type { Context } from './context.ts';
import { table } from './table.ts';

interface ListOptions {
  readonly limit: number;
  readonly after?: string;
  readonly all?: true;
  readonly json?: true;
}

export function sessionsCommand(context: Context): Command {
  return new Command('sessions')
    .summary('list the sessions')
    .description('Lists the sessions that the token reaches, the latest activity first.')
    .option('--limit <n>', 'how many', limitOption, limits.sessionsPerListDefault)
    .option('--after <place>', 'go on where a list ended, which said so')
    .option('--all', 'all of them, page after page')
    .option('--json', 'print one line of JSON a session, as the server has it')
    .addHelpText(
      'after',
      `
Examples:
  ledgerline sessions
  ledgerline sessions --all --json | jq .session
`,
    )
    .action((options: ListOptions) => list(context, options));
}

const sessionShape = z.looseObject({
  session: z.string(),
  head: z.number(),
  state: z.string(),
  turn: z.looseObject({ state: z.string() }),
  activity: z.string(),
});
const pageShape = z.object({ sessions: z.array(sessionShape), next: z.string().nullable() });
type Session = z.infer<typeof sessionShape>;

async function list(context: Context, { limit, after, all, json }: ListOptions): Promise<void> {
  const { output, stop } = context;
  const target = await anyTarget(context);
  const isAll = all === true;
  let place = after ?? null;
  let printed = 0;
  for (;;) {
    const query = new URLSearchParams({ limit: String(isAll ? limits.sessionsPerList : limit) });
    if (place !== null) query.set('after', place);
    const path = `/sessions?${query.toString()}`;
    const page = understood(pageShape, await request(target, { method: 'GET', path, stop }), target.url + path);
    const { sessions } = page;
    if (sessions.length > 0) await output.print(json === true ? lines(sessions) : tableOf(sessions, printed === 0));
    printed += sessions.length;
    place = page.next;
    if (place === null || !isAll || output.isClosed) break;
  }
  if (printed === 0) output.note('there are no sessions within reach');
  if (place !== null) output.note(`there are more: add --after ${place}, or --all`);
}

const lines = (sessions: readonly Session[]): string =>
  sessions.map((session) => `${JSON.stringify(session)}\n`).join('');

/** Further pages go on under the first one's head. */
function tableOf(sessions: readonly Session[], isFirst: boolean): string {
  const text = table(
    ['SESSION', 'EVENTS', 'STATE', 'AGENT', 'LAST ACTIVITY'],
    sessions.map(({ session, head, state, turn, activity }) => [session, String(head), state, turn.state, activity]),
  );
  return isFirst ? text : text.slice(text.indexOf('\n') + 1);
}

function limitOption(text: string): number {
  const limit = /^[1-9][0-9]{0,5}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= limits.sessionsPerList) return limit;
  throw new InvalidArgumentError(`It is a number from 1 to ${limits.sessionsPerList}.`);
}
