/** Every code has one status and one title, and nothing that was not written for a caller leaves. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { LedgerlineError, errorCodes } from '../../src/base/errors.ts';
import { problem, problemKinds, told } from '../../src/http/problem.ts';

describe('problems', () => {
  it('are described in the protocol with the status they have', () => {
    const page = readFileSync(new URL('../../docs/PROTOCOL.md', import.meta.url), 'utf8');
    const rows = [...page.matchAll(/^\| `([a-z_]+)` \| (\d{3}|–) \|/gm)].map(([, code, status]) => `${code} ${status}`);
    const commandLineOnly = new Set(['configuration', 'schema_newer']);
    const codes = errorCodes.map((code) => `${code} ${commandLineOnly.has(code) ? '–' : problemKinds[code].status}`);
    expect(rows.toSorted()).toEqual(codes.toSorted());
  });

  it('have the members of the standard, and the error’s fields beside them', () => {
    const { status, headers, body } = problem(new LedgerlineError('wrong_head', 'the head moved', { head: 7 }));
    expect(status).toBe(409);
    expect(headers['Content-Type']).toBe('application/problem+json');
    expect(JSON.parse(body)).toEqual({
      type: 'urn:ledgerline:problem:wrong_head',
      title: 'The head is elsewhere',
      status: 409,
      detail: 'the head moved',
      head: 7,
    });
  });

  it('cannot have a standard member replaced by a field', () => {
    const { body } = problem(
      new LedgerlineError('malformed', 'no', { status: 200, type: 'x', title: 'x', detail: 'x' }),
    );
    expect(JSON.parse(body)).toMatchObject({ status: 400, type: 'urn:ledgerline:problem:malformed', detail: 'no' });
  });

  it('say when to come back if the fault will pass', () => {
    for (const code of errorCodes) {
      const { status, headers } = problem(new LedgerlineError(code, 'x'));
      expect([code, headers['Retry-After']]).toEqual([code, status === 503 || status === 429 ? '1' : undefined]);
      expect([code, 'WWW-Authenticate' in headers]).toEqual([code, status === 401]);
    }
  });

  it('keep what was thrown to themselves unless it was written for the caller', () => {
    const secret = 'postgres://user:hunter2@host';
    for (const thrown of [new Error(secret), secret, undefined, { message: secret }]) {
      const { status, body } = problem(told(thrown), '00000000-0000-4000-8000-000000000000');
      expect(status).toBe(500);
      expect(body).not.toContain('hunter2');
      expect(JSON.parse(body)).toMatchObject({ instance: 'urn:uuid:00000000-0000-4000-8000-000000000000' });
    }
    expect(problem(new LedgerlineError('internal', secret)).body).not.toContain('hunter2');
  });
});
