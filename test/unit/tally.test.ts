/** A tally tells what prom-client's counter would. */
import { Counter, Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { Tally } from '../../src/base/tally.ts';

const description = { name: 'seen_total', help: 'What was seen' };

describe('a tally', () => {
  it('is scraped as a counter of the same calls is, each time it is read', async () => {
    const [tallied, counted] = [new Registry(), new Registry()];
    const labelNames = ['route', 'status'];
    const tally = new Tally({ ...description, labelNames, registers: [tallied] });
    const counter = new Counter({ ...description, labelNames, registers: [counted] });
    for (const calls of [
      [
        ['/a', '200'],
        ['/a', '404'],
        ['/a', '200'],
        ['/b', '200'],
      ],
      [
        ['/b', '200'],
        ['/a', '200'],
        ['/c', '500'],
      ],
      [],
    ] as const) {
      for (const [route, status] of calls) {
        tally.count(route, status);
        counter.inc({ route, status });
      }
      expect(await tallied.metrics()).toBe(await counted.metrics());
    }
  });

  it('of one label has no other', async () => {
    const registry = new Registry();
    const tally = new Tally({ ...description, labelNames: ['kind'], registers: [registry] });
    tally.count('frames');
    tally.count('frames');
    expect((await tally.get()).values).toEqual([{ value: 2, labels: { kind: 'frames' } }]);
    expect((await tally.get()).values).toEqual([{ value: 2, labels: { kind: 'frames' } }]);
  });
});
