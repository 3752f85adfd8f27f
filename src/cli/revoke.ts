/** `ledgerline revoke`: ends tokens before their time, in every gateway within seconds. */
import { Command } from 'commander';
import { z } from 'zod';
import { LedgerlineError } from '../base/errors.ts';
import { sessionIdShape } from '../event/event.ts';
import { subjectShape, tokenIdShape } from '../http/auth.ts';
import { checked } from './arguments.ts';
import { internalTarget, request, understood } from './client.ts';
import type { Context } from './context.ts';

interface RevokeOptions {
  readonly token?: string;
  readonly subject?: string;
  readonly session?: string;
}

export function revokeCommand(context: Context): Command {
  return new Command('revoke')
    .summary('end tokens before their time')
    .description(
      'Ends a token, or all that a subject was given so far, or all that reach a session: open streams end within 5 s. ' +
        'Tokens that are issued later hold. Needs LEDGERLINE_INTERNAL_URL and LEDGERLINE_KEY, or the development server here.',
    )
    .option('--token <id>', 'one token, by its jti', checked(tokenIdShape))
    .option('--subject <name>', 'every token of this sub', checked(subjectShape))
    .option('--session <id>', 'every token, for this session alone', checked(sessionIdShape))
    .addHelpText(
      'after',
      `
Examples:
  ledgerline revoke --token 0b6c1d1e-6f0e-4c52-9a51-1d0b7f4f7a11
  ledgerline revoke --subject maya
`,
    )
    .action((options: RevokeOptions) => revoke(context, options));
}

const answerShape = z.object({ until: z.string() });
const PATH = '/internal/revocations';

async function revoke(context: Context, { token, subject, session }: RevokeOptions): Promise<void> {
  const given = [token, subject, session].filter((each) => each !== undefined);
  if (given.length !== 1) {
    throw new LedgerlineError('configuration', 'name one of --token, --subject and --session');
  }
  const body = {
    ...(token === undefined ? {} : { jti: token }),
    ...(subject === undefined ? {} : { sub: subject }),
    ...(session === undefined ? {} : { session }),
  };
  const target = await internalTarget(context);
  const answer = await request(target, { method: 'POST', path: PATH, body, stop: context.stop });
  const { until } = understood(answerShape, answer, target.url + PATH);
  context.output.note(`revoked, and remembered until ${until}`);
}
