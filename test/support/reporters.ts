/** How a run reports: to whoever watches, and as JSON where `LEDGERLINE_TEST_REPORT` names a file. */

type Reporters = (string | [string, Record<string, unknown>])[];

export function reporters(): Reporters {
  const outputFile = process.env['LEDGERLINE_TEST_REPORT'];
  return outputFile === undefined ? ['default'] : ['default', ['json', { outputFile }]];
}
