/** What the README says can be pasted: the token that it mints is one that the server takes. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createTokenVerifier } from '../../src/http/token-verifier.ts';

const readme = readFileSync(new URL('../../README.md', import.meta.url), 'utf8');
const SECRET = 's'.repeat(32);

it('mints a token in five lines of Node', async () => {
  const [, snippet] = /```js\n(import \{ createHmac[^]+?)```/.exec(readme) ?? [];
  const lines = snippet?.trim().split('\n') ?? [];
  expect(lines).toHaveLength(5);
  const script = [...lines, 'process.stdout.write(token);'].join('\n');
  const token = execFileSync(process.execPath, ['--input-type=module', '--eval', script], {
    env: { LEDGERLINE_TOKEN_SECRET: SECRET },
    encoding: 'utf8',
  });
  const credential = await createTokenVerifier({ secrets: [Buffer.from(SECRET)] }, systemClock)(token);
  expect(credential).toMatchObject({ sessions: ['run-42'], scope: new Set(['read']), isInternal: false });
});
