/** The files of a development server: its secrets, made once, and where it can be reached. */
import { chmod, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { randomSecret } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';

/** The data folder of the working folder, unless `--data` names another. */
export const DATA_FOLDER = '.ledgerline';

const secretsShape = z.object({ tokenSecret: z.string().min(32), internalKey: z.string().min(32) });
export type Secrets = z.infer<typeof secretsShape>;

const devServerShape = z.object({ public: z.url(), internal: z.url(), token: z.string(), key: z.string() });
export type DevServer = z.infer<typeof devServerShape>;

/** Makes the data folder. Others may pass through it, for Postgres runs as another user when started by root; every file closes itself. */
export async function prepareDataFolder(data: string): Promise<void> {
  const isNew = (await mkdir(data, { recursive: true })) !== undefined;
  if (isNew) await chmod(data, 0o755);
  await writeFile(join(data, '.gitignore'), '*\n');
}

/** The same secrets at every start, so that a restart ends nobody's token. */
export async function readOrMakeSecrets(data: string): Promise<Secrets> {
  const known = await readSecrets(data);
  if (known !== undefined) return known;
  const made = { tokenSecret: randomSecret(), internalKey: randomSecret() };
  await writePrivate(join(data, 'secrets.json'), made);
  return made;
}

export const readSecrets = (data: string): Promise<Secrets | undefined> => read(join(data, 'secrets.json'), secretsShape);
export const readDevServer = (data: string): Promise<DevServer | undefined> => read(join(data, 'dev.json'), devServerShape);
export const writeDevServer = (data: string, server: DevServer): Promise<void> => writePrivate(join(data, 'dev.json'), server);
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
