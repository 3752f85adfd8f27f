/** The files of a development server: its secrets, made once, and where it can be reached. */
import { access, chmod, constants, mkdir, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { randomSecret } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';

/** The data folder of the working folder, unless `--data` names another. */
export const DATA_FOLDER = '.ledgerline';

const secretsShape = z.object({ tokenSecret: z.string().min(32), internalKey: z.string().min(32) });
export type Secrets = z.infer<typeof secretsShape>;

const devServerShape = z.object({
  public: z.url(),
  internal: z.url(),
  token: z.string(),
  key: z.string(),
  /** With the token in it; absent where an earlier release runs. */
  page: z.url().optional(),
  /** Its own Postgres, for a worker; absent where `DATABASE_URL` named another, which is not ours to hand on. */
  database: z.url().optional(),
});
export type DevServer = z.infer<typeof devServerShape>;

/**
 * Makes the data folder, or proves that it is ours: nothing is written into a folder that somebody else filled. Others
 * may pass through it, for Postgres runs as another user when started by root; every file closes itself.
 */
export async function prepareDataFolder(data: string): Promise<void> {
  const names = await openFolder(data);
  if (names.length === 0) return writeFile(join(data, '.gitignore'), '*\n');
  const isOurs = names.includes('secrets.json') || names.every((name) => early.has(name));
  if (isOurs) return;
  throw new LedgerlineError('configuration', `${data} was not made by Ledgerline: choose an empty folder with --data`);
}

/** What a start that was killed early may have left, without the secrets. */
const early: ReadonlySet<string> = new Set(['.gitignore', 'postgres', 'secrets.json.new']);

/** The names in it. */
async function openFolder(data: string): Promise<string[]> {
  try {
    const isNew = (await mkdir(data, { recursive: true })) !== undefined;
    if (isNew) await chmod(data, 0o755);
    await access(data, constants.R_OK | constants.W_OK);
    return await readdir(data);
  } catch (error) {
    const reason = reasons[(error as NodeJS.ErrnoException).code ?? ''] ?? `cannot be used: ${toError(error).message}`;
    throw new LedgerlineError('configuration', `${data} ${reason}; choose another with --data`, {}, error);
  }
}

const reasons: Readonly<Record<string, string>> = {
  EEXIST: 'is a file, not a folder',
  ENOTDIR: 'lies below a file',
  EACCES: 'may not be used by this user',
  EROFS: 'lies where nothing can be written',
};

/** The same secrets at every start, so that a restart ends nobody's token. */
export async function readOrMakeSecrets(data: string): Promise<Secrets> {
  const known = await readSecrets(data);
  if (known !== undefined) return known;
  const made = { tokenSecret: randomSecret(), internalKey: randomSecret() };
  await writePrivate(join(data, 'secrets.json'), made);
  return made;
}

export const readSecrets = (data: string): Promise<Secrets | undefined> =>
  read(join(data, 'secrets.json'), secretsShape);
export const readDevServer = (data: string): Promise<DevServer | undefined> =>
  read(join(data, 'dev.json'), devServerShape);
export const writeDevServer = (data: string, server: DevServer): Promise<void> =>
  writePrivate(join(data, 'dev.json'), server);
export const removeDevServer = (data: string): Promise<void> => rm(join(data, 'dev.json'), { force: true });

async function read<T>(path: string, shape: z.ZodType<T>): Promise<T | undefined> {
  let text: string;
  try {
    text = await readFile(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw new LedgerlineError('unavailable', `${path} cannot be read`, {}, error);
  }
  try {
    return shape.parse(JSON.parse(text));
  } catch (error) {
    throw new LedgerlineError('unavailable', `${path} is damaged: remove it and start ledgerline dev again`, {}, error);
  }
}

/** Nobody sees half a file, and nobody else sees it at all. */
async function writePrivate(path: string, value: object): Promise<void> {
  const fresh = `${path}.new`;
  await rm(fresh, { force: true });
  await writeFile(fresh, `${JSON.stringify(value)}\n`, { mode: 0o600, flag: 'wx' });
  await rename(fresh, path);
}
