/** Which process a stale `postmaster.pid` may speak of: only a Postgres of that folder is ever ended. */
import { tmpdir } from 'node:os';
import { realpathSync } from 'node:fs';
import { expect, test } from 'vitest';
import { runsOn } from '../../src/db/data-holder.ts';

const data = realpathSync(tmpdir());
const ours = `/package/bin/postgres -D ${data} -c port=20001`;
const another = '/opt/homebrew/bin/postgres -D /opt/homebrew/var/postgresql';

test.each([
  ['a Postgres that works in the folder', ours, data, true],
  ['a Postgres that works elsewhere', ours, '/', false],
  ['something else in the folder', 'vim notes', data, false],
  ['a Postgres that was started on the folder, where no folder can be told', ours, undefined, true],
  ['a Postgres of somebody else, where no folder can be told', another, undefined, false],
])('%s', (_, commandLine, workingFolder, isHolder) => {
  expect(runsOn({ parent: 1, commandLine, workingFolder }, data)).toBe(isHolder);
});
