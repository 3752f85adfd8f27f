/** `ledgerline close`: ends a session; whoever follows it gets the rest and then the end. */
import { Command } from 'commander';
import { sessionArgument } from './arguments.ts';
import { anyTarget, request } from './client.ts';
import type { Context } from './context.ts';

export function closeCommand(context: Context): Command {
  return new Command('close')
    .summary('close a session for good')
    .description('Closes a session: nothing more can be appended, and its followers end when they have everything.')
    .addArgument(sessionArgument())
    .addHelpText('after', '\nExample:\n  ledgerline close run-42\n')
    .action(async (session: string) => {
      const target = await anyTarget(context);
      await request(target, { method: 'POST', path: `/sessions/${session}/close`, stop: context.stop });
      context.output.note(`closed ${session}`);
    });
}
