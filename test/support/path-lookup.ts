/** Where a command is, and its installation by apt where that is ours to do. */
import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** `/usr/sbin` too: Debian puts servers there, and a user's path leaves it out. */
export function onPath(command: string): string | undefined {
  const folders = [...(process.env['PATH'] ?? '').split(delimiter), '/usr/local/sbin', '/usr/sbin'].filter(Boolean);
  return folders.map((folder) => join(folder, command)).find(isExecutable);
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** True when `debianPackage` was installed: only as root on a Debian, where a fresh container lacks it. */
export function installByApt(debianPackage: string): boolean {
  if (process.getuid?.() !== 0 || !existsSync('/etc/debian_version') || onPath('apt-get') === undefined) return false;
  say(`installing ${debianPackage} with apt-get, since it is missing here`);
  const environment = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...words: string[]): void => {
    execFileSync('apt-get', ['-qq', '-o', 'Acquire::Retries=3', ...words], {
      env: environment,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
  };
  try {
    apt('update');
    apt('install', '-y', '--no-install-recommends', debianPackage);
    return true;
  } catch (error) {
    say(`apt-get could not install ${debianPackage}: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}

/** One line to whoever watches the run. */
export function say(line: string): void {
  process.stderr.write(`[ledgerline tests] ${line}\n`);
}
