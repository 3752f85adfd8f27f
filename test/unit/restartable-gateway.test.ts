/** A gateway that restarts in its process keeps its ports, is tried again when it does not come back, and ends whenever it is told to. */
import { describe, expect, test } from 'vitest';
import { LedgerlineError } from '../../src/base/errors.ts';
import { labLimits } from '../../src/base/lab-limits.ts';
import { createRestartableGateway } from '../../src/cli/restartable-gateway.ts';
import type { Ports } from '../../src/cli/restartable-gateway.ts';
import { recordingLog } from '../support/stub-gateway.ts';
import { eventually } from '../support/waits.ts';

/** Gateways that tell what happens to them; `gate` holds their starts and stops back. */
function setUp(ports: Ports) {
  const happened: string[] = [];
  const created: Ports[] = [];
  const scene = {
    gate: (_what: string): Promise<void> => Promise.resolve(),
    failures: 0,
  };
  let pauses = 0;
  const { log, lines } = recordingLog();
  const gateway = createRestartableGateway({
    ports,
    log,
    sleep: () => {
      pauses += 1;
      return Promise.resolve();
    },
    create(at) {
      created.push(at);
      const place = created.length;
      const step = async (what: string): Promise<void> => {
        await scene.gate(`${what} ${place}`);
        happened.push(`${what} ${place}`);
      };
      return {
        name: 'gateway',
        async start() {
          if (place > 1 && scene.failures-- > 0) throw new LedgerlineError('configuration', 'the port is taken');
          await step('start');
        },
        stop: () => step('stop'),
        publicUrl: `http://127.0.0.1:${at.publicPort === 0 ? 40_001 : at.publicPort}`,
        internalUrl: `http://127.0.0.1:${at.internalPort === 0 ? 40_002 : at.internalPort}`,
      };
    },
  });
  return { gateway, happened, created, scene, lines, pauses: () => pauses };
}

const free: Ports = { publicPort: 0, internalPort: 0 };

/** Holds back what it is asked to until it is let go. */
function hold(scene: { gate: (what: string) => Promise<void> }, held: string) {
  let letGo!: () => void;
  let isReached = false;
  const open = new Promise<void>((resolve) => (letGo = resolve));
  scene.gate = (what) => {
    if (what !== held) return Promise.resolve();
    isReached = true;
    return open;
  };
  return { letGo, reached: () => eventually(`it comes to ${held}`, () => isReached) };
}

describe('a restart', () => {
  test('ends one gateway and begins another on the ports that the first had picked', async () => {
    const { gateway, happened, created } = setUp(free);
    await gateway.start();
    gateway.restart();
    expect(happened).toEqual(['start 1']);
    await eventually('it is back', () => happened.length === 3);
    expect(happened).toEqual(['start 1', 'stop 1', 'start 2']);
    expect(created).toEqual([free, { publicPort: 40_001, internalPort: 40_002 }]);
    expect([gateway.publicUrl, gateway.internalUrl]).toEqual(['http://127.0.0.1:40001', 'http://127.0.0.1:40002']);
    await gateway.stop();
    expect(happened.at(-1)).toBe('stop 2');
  });

  test('keeps ports that were set, also those that an address leaves out', async () => {
    const { gateway, happened, created } = setUp({ publicPort: 80, internalPort: 8_081 });
    await gateway.start();
    gateway.restart();
    await eventually('it is back', () => happened.length === 3);
    expect(created[1]).toEqual({ publicPort: 80, internalPort: 8_081 });
    await gateway.stop();
  });

  test('that is asked for while one is under way is the same one, and later it is another', async () => {
    const { gateway, happened, scene } = setUp(free);
    await gateway.start();
    const stop = hold(scene, 'stop 1');
    gateway.restart();
    await stop.reached();
    gateway.restart();
    // Whatever that began has come as far as it can.
    for (let turn = 0; turn < 3; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    stop.letGo();
    await eventually('it is back', () => happened.includes('start 2'));
    await eventually('and restarts again', () => {
      gateway.restart();
      return happened.includes('start 3');
    });
    expect(happened).toEqual(['start 1', 'stop 1', 'start 2', 'stop 2', 'start 3']);
    await gateway.stop();
  });

  test('that fails is logged and tried again', async () => {
    const { gateway, happened, scene, lines, pauses } = setUp(free);
    await gateway.start();
    scene.failures = 2;
    gateway.restart();
    await eventually('it is back', () => happened.includes('start 4'));
    expect(lines().match(/the gateway did not come back/g)).toHaveLength(2);
    expect(lines()).toContain('the port is taken');
    expect(pauses()).toBe(2);
    await gateway.stop();
    expect(happened).toEqual(['start 1', 'stop 1', 'start 4', 'stop 4']);
  });

  test('that fails too often is given up with a word to whoever reads the log', async () => {
    const { gateway, happened, created, scene, lines } = setUp(free);
    await gateway.start();
    scene.failures = Infinity;
    gateway.restart();
    await eventually('it gives up', () => lines().includes('does not come back: end this server'));
    expect(created).toHaveLength(1 + labLimits.restartTries);
    await gateway.stop();
    expect(happened).toEqual(['start 1', 'stop 1']);
  });
});

describe('an end in the middle of a restart', () => {
  test('while the old one drains begins no new one', async () => {
    const { gateway, happened, created, scene } = setUp(free);
    await gateway.start();
    const stop = hold(scene, 'stop 1');
    gateway.restart();
    await stop.reached();
    const stopping = gateway.stop();
    stop.letGo();
    await stopping;
    expect([happened, created.length]).toEqual([['start 1', 'stop 1'], 1]);
  });

  test('while the new one starts ends that one as well', async () => {
    const { gateway, happened, scene } = setUp(free);
    await gateway.start();
    const start = hold(scene, 'start 2');
    gateway.restart();
    await start.reached();
    const stopping = gateway.stop();
    start.letGo();
    await stopping;
    expect(happened).toEqual(['start 1', 'stop 1', 'start 2', 'stop 2']);
  });

  test('is the end: no restart follows it', async () => {
    const { gateway, happened } = setUp(free);
    await gateway.start();
    const stopping = gateway.stop();
    gateway.restart();
    await stopping;
    await gateway.stop();
    expect(happened.filter((what) => what.startsWith('start'))).toEqual(['start 1']);
  });
});

test('before its start it has no address', () => {
  expect(() => setUp(free).gateway.publicUrl).toThrow('has not started');
});
