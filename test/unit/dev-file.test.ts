/** A data folder is taken for ours in every state in which a killed start can leave it, and no other folder is. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { prepareDataFolder, readOrMakeSecrets } from '../../src/cli/dev-file.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'ledgerline-data-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

it.each([[[]], [['.gitignore']], [['.gitignore', 'secrets.json.new']], [['.gitignore', 'postgres']]])(
  'a start that was killed when the folder held %j is followed by another',
  async (names) => {
    for (const name of names) {
      if (name === 'postgres') mkdirSync(join(folder, name));
      else writeFileSync(join(folder, name), '');
    }
    await prepareDataFolder(folder);
    const secrets = await readOrMakeSecrets(folder);
    await prepareDataFolder(folder);
    expect(await readOrMakeSecrets(folder)).toEqual(secrets);
  },
);

it.each(['notes.txt', 'postgres.conf'])('a folder with %s in it is somebody else’s', async (name) => {
  writeFileSync(join(folder, name), '');
  await expect(prepareDataFolder(folder)).rejects.toMatchObject({ code: 'configuration' });
});
