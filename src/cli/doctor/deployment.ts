/** What is diagnosed, and with which credentials: as the other commands find a server, and never half of two. */
import { join } from 'node:path';
import { LedgerlineError } from '../../base/errors.ts';
import { readClientConfig } from '../../config.ts';
import type { Context } from '../context.ts';
import { DATA_FOLDER, readDevServer } from '../dev-file.ts';

export interface Deployment {
  /** What readers are given. */
  readonly url: string;
  readonly token: string | undefined;
  /** Signs a token for the diagnosis where none is given. */
  readonly secret: string | undefined;
  readonly issuer: string | undefined;
  readonly audience: string | undefined;
  readonly internalUrl: string | undefined;
  readonly key: string | undefined;
}

/** Throws `configuration` where no address is known. */
export async function findDeployment(context: Context, url: string | undefined): Promise<Deployment> {
  const { tokenSecret: secret, tokenIssuer: issuer, tokenAudience: audience, ...given } = readClientConfig(context.env);
  const { url: ownUrl, token, internalUrl, key } = given;
  const isSet = [ownUrl, token, internalUrl, key, secret].some((value) => value !== undefined);
  if (isSet) return { url: url ?? ownUrl ?? noAddress(), token, secret, issuer, audience, internalUrl, key };
  const nothing = { token: undefined, secret, issuer, audience, internalUrl: undefined, key: undefined };
  // A development server's token goes to no other machine because of a folder that somebody stands in.
  const dev = url === undefined || isLoopback(url) ? await readDevServer(join(context.folder, DATA_FOLDER)) : undefined;
  if (dev === undefined) return { url: url ?? noAddress(), ...nothing };
  return { ...nothing, url: url ?? dev.public, token: dev.token, internalUrl: dev.internal, key: dev.key };
}

export const isLoopback = (url: string): boolean =>
  /^(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])$/.test(new URL(url).hostname);

function noAddress(): never {
  throw new LedgerlineError(
    'configuration',
    'no address to look at: name it, set LEDGERLINE_URL, or run this in the folder of a running `ledgerline dev`',
  );
}
