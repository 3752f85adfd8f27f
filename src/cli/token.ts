/** `ledgerline token`: mints a token for readers. */
import { join } from 'node:path';
import { Command, InvalidArgumentError } from 'commander';
import { accessLimits } from '../base/access-limits.ts';
import { LedgerlineError } from '../base/errors.ts';
import { readClientConfig } from '../config.ts';
import { scopes, subjectShape } from '../http/auth.ts';
import type { Scope } from '../http/auth.ts';
import { mintToken } from '../http/token.ts';
import { checked } from './arguments.ts';
import type { Context } from './context.ts';
import { DATA_FOLDER, readSecrets } from './dev-file.ts';

interface TokenOptions {
  readonly session?: readonly string[];
  readonly scope?: readonly Scope[];
  readonly ttl?: number;
  readonly subject: string;
}

export function tokenCommand(context: Context): Command {
  return new Command('token')
    .summary('mint a token')
    .description(
      'Prints a token signed with LEDGERLINE_TOKEN_SECRET, or with the secret of the development server in this folder.',
    )
    .option(
      '-s, --session <id>',
      'a session it reaches: an id, a prefix such as run-*, or *; repeatable (default: *, all of them)',
      collect,
    )
    .option(
      '--scope <scopes>',
      `what it may do: ${scopes.join(', ')}, separated by spaces (default: read)`,
      scopeOption,
    )
    .option('--ttl <time>', 'how long it holds: 90s, 15m, 12h, 30d; at most 366d (default: 1h)', timeOption)
    .option('--subject <name>', 'who it is for', checked(subjectShape), 'cli')
    .addHelpText(
      'after',
      `
Examples:
  ledgerline token --session demo
  ledgerline token --session 'run-*' --scope "read send" --ttl 7d --subject maya
`,
    )
    .action((options: TokenOptions) => token(context, options));
}

async function token(context: Context, options: TokenOptions): Promise<void> {
  const { session: sessions = ['*'], scope = ['read'], ttl = 3_600, subject } = options;
  const secret = new TextEncoder().encode(await secretOf(context));
  const { tokenIssuer: issuer, tokenAudience: audience } = readClientConfig(context.env);
  const claims = { sub: subject, sessions, scope, ttlSeconds: ttl, issuer, audience };
  await context.output.print(`${await mintToken(secret, claims)}\n`);
}

async function secretOf(context: Context): Promise<string> {
  const { tokenSecret } = readClientConfig(context.env);
  if (tokenSecret !== undefined) return tokenSecret;
  const secrets = await readSecrets(join(context.folder, DATA_FOLDER));
  if (secrets !== undefined) return secrets.tokenSecret;
  throw new LedgerlineError(
    'configuration',
    'no secret to sign with: set LEDGERLINE_TOKEN_SECRET, or run this in a folder where `ledgerline dev` has run',
  );
}

function collect(text: string, others: readonly string[] = []): string[] {
  if (!/^(?:[A-Za-z0-9_-]{1,128}|[A-Za-z0-9_-]{0,127}\*)$/.test(text)) {
    throw new InvalidArgumentError('It is a session id, a prefix followed by *, or * alone.');
  }
  return [...others, text];
}

function scopeOption(text: string): Scope[] {
  const words = text.split(/[\s,]+/).filter((word) => word !== '');
  const known = scopes.filter((scope) => words.includes(scope));
  if (words.length > 0 && words.every((word) => known.some((scope) => scope === word))) return known;
  throw new InvalidArgumentError(`It is one or more of ${scopes.join(', ')}.`);
}

const secondsIn: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

function timeOption(text: string): number {
  const [, amount, unit] = /^([1-9][0-9]{0,7})([smhd])$/.exec(text) ?? [];
  if (amount === undefined || unit === undefined)
    throw new InvalidArgumentError('It is a number and s, m, h or d: 15m.');
  const seconds = Number(amount) * (secondsIn[unit] ?? 1);
  if (seconds * 1_000 > accessLimits.tokenMs) throw new InvalidArgumentError('A token holds for at most 366d.');
  return seconds;
}
