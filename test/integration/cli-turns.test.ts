/** `ledgerline turns` against a gateway: an operator finds what went wrong, and settles it. */
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { run as runProgram } from '../../src/cli/program.ts';
import { caller } from '../support/deployment.ts';
import type { Caller } from '../support/deployment.ts';
import { startInProcessGateway } from '../support/in-process-gateway.ts';
import type { InProcessGateway } from '../support/in-process-gateway.ts';
import { turnCaller } from '../support/turn-calls.ts';
import type { Claimed, TurnCaller } from '../support/turn-calls.ts';

let gateway: InProcessGateway;
let call: Caller;
let turns: TurnCaller;
beforeAll(async () => {
  gateway = await startInProcessGateway();
  call = caller(gateway);
  turns = turnCaller(call);
});
afterAll(() => gateway.stop());

async function run(...commandLine: string[]) {
  let stdout = '';
  let stderr = '';
  const code = await runProgram(['node', 'ledgerline', 'turns', ...commandLine], {
    env: { LEDGERLINE_INTERNAL_URL: gateway.internalUrl, LEDGERLINE_KEY: gateway.key },
    folder: '.',
    input: Readable.from([]),
    output: {
      print: (text) => Promise.resolve(void (stdout += text)),
      note: (text) => void (stderr += `${text}\n`),
      isClosed: false,
    },
    stop: new AbortController().signal,
    clock: systemClock,
  });
  return { code, stdout, stderr };
}

async function failed(): Promise<Claimed> {
  const session = await call.session();
  await turns.message(session, 'hello');
  const claimed = await turns.claim(session);
  await turns.settle(claimed, 'fail', { error: { code: 'broken', message: 'it\nbroke' }, retryable: false });
  return claimed;
}

it('lists a failure, tries it again, and cancels that', async () => {
  const { session, turn } = await failed();
  const list = await run();
  expect(list).toMatchObject({ code: 0, stderr: '' });
  expect(list.stdout.split('\n')[1]).toMatch(
    new RegExp(`^${session} +${turn} +failed +\\S+Z +1/3 +- +broken: it broke$`),
  );
  expect(await run('retry', session, turn)).toEqual({
    code: 0,
    stdout: '',
    stderr: `${session}: the turn ${turn} is ready\n`,
  });
  expect((await run()).stderr).toBe('no turn needs a person\n');
  const { stdout } = await run('--active', '--json');
  expect(JSON.parse(stdout)).toMatchObject({ session, turn, status: 'open', state: 'ready' });
  expect((await run('cancel', session, turn)).stderr).toBe(`${session}: the turn ${turn} is cancelled\n`);
  expect(await run('cancel', session, turn)).toMatchObject({
    code: 1,
    stderr: `ledgerline: nothing to cancel: the turn ${turn} is not queued or under way in ${session} (idle)\n`,
  });
});

it('takes note of a failure, or begins anew', async () => {
  const one = await failed();
  expect((await run('ack', one.session, one.turn)).code).toBe(0);
  expect((await run()).stderr).toBe('no turn needs a person\n');
  expect((await run('rerun', one.session, one.turn)).stderr).toBe(`${one.session}: a new turn is ready\n`);
  expect((await run('cancel', one.session)).stderr).toBe(`${one.session}: the turn is cancelled\n`);
});

it('shows what is in doubt, and resolves it', async () => {
  const session = await call.session();
  await turns.message(session, 'charge me');
  const claimed = await turns.claim(session);
  const { turn } = claimed;
  const charge = { tool: 'charge', effect: 'once', args: { cents: 4_000 } };
  const calls = [1, 2].map((n) => ({ call: `c${n}`, tool: charge.tool, args: charge.args }));
  await turns.step(claimed, 0, 'model', { request: 1, result: 1, calls });
  for (const index of [1, 2]) await turns.step(claimed, index, 'start', charge);
  await turns.settle(claimed, 'finish', { outcome: 'completed', events: [] });
  expect((await run()).stdout).toContain('step 1 (charge, once) is in doubt; step 2 (charge, once) is in doubt\n');

  const done = await run(
    'resolve',
    session,
    turn,
    '1',
    '--done',
    '{"id":"ch_1"}',
    '--deliver',
    'charged=40',
    '--resume',
  );
  expect(done).toMatchObject({ code: 0, stdout: '' });
  expect((await run()).stdout).toMatch(/ step 2 \(charge, once\) is in doubt\n$/);
  expect(await run('resolve', session, turn, '1', '--not-done')).toMatchObject({
    code: 1,
    stderr: 'ledgerline: the step is not in doubt: it is done (409 step_settled)\n',
  });
  expect((await run('resolve', session, turn, '2', '--not-done', '--resume')).code).toBe(0);
  expect((await run()).stderr).toBe('no turn needs a person\n');

  const next = await turns.claim(session);
  expect((await turns.step(next, 1, 'start', charge)).json).toEqual({ do: 'use', result: { id: 'ch_1' } });
  expect((await turns.step(next, 2, 'start', charge)).json).toMatchObject({ do: 'run', again: false });
  const { json } = await call.internal('GET', `/sessions/${session}/deliveries`);
  expect(json).toMatchObject({ deliveries: [{ number: 1, topic: 'charged', step: 1 }] });
});

it('says why something cannot be done', async () => {
  const session = await call.session();
  const { code, stderr } = await run('retry', session, 'never');
  expect([code, stderr]).toEqual([1, 'ledgerline: the session has no such turn (404 turn_unknown)\n']);
});
