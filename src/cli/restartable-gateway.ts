/** A gateway that can end and begin again within its process, on the same ports: for a development server. */
import { sleep, systemClock } from '../base/clock.ts';
import { LedgerlineError, toError } from '../base/errors.ts';
import { labLimits } from '../base/lab-limits.ts';
import type { Log } from '../base/log.ts';
import type { ServerConfig } from '../config.ts';
import type { Gateway } from '../gateway.ts';

export type Ports = Pick<ServerConfig, 'publicPort' | 'internalPort'>;

export interface RestartableGateway extends Gateway {
  /** Returns at once; while one restart is under way, another is the same one. */
  restart(): void;
}

export interface RestartableOptions {
  /** As it is set; a gateway that picked free ones keeps them. */
  readonly ports: Ports;
  readonly create: (ports: Ports) => Gateway;
  readonly log: Log;
  readonly sleep?: typeof sleep;
}

/** Known from the first start on, and the same ever after. */
type Address = Pick<Gateway, 'publicUrl' | 'internalUrl'>;

export function createRestartableGateway(options: RestartableOptions): RestartableGateway {
  const { ports, create, log } = options;
  const pause = options.sleep ?? sleep;
  const stopping = new AbortController();
  let address: Address | undefined;
  let current: Gateway | undefined;
  let restarting: Promise<void> | undefined;

  /** A gateway that did not start has let go of everything. */
  async function startOne(at: Ports): Promise<Gateway> {
    const gateway = create(at);
    await gateway.start();
    current = gateway;
    return gateway;
  }

  async function restart(at: Ports): Promise<void> {
    await current?.stop();
    current = undefined;
    for (let attempt = 1; attempt <= labLimits.restartTries; attempt += 1) {
      if (stopping.signal.aborted) return;
      try {
        await startOne(at);
        return log.info('the gateway has restarted');
      } catch (thrown) {
        log.warn({ err: toError(thrown), attempt }, 'the gateway did not come back');
      }
      await pause(labLimits.restartRetryMs, stopping.signal);
    }
    if (!stopping.signal.aborted) log.error('the gateway does not come back: end this server and start it again');
  }

  function started(): Address {
    if (address === undefined) throw new LedgerlineError('configuration', 'the gateway has not started');
    return address;
  }

  return {
    name: 'gateway',
    async start() {
      const { publicUrl, internalUrl } = await startOne(ports);
      address = { publicUrl, internalUrl };
    },
    restart() {
      const { publicUrl, internalUrl } = started();
      if (restarting !== undefined || stopping.signal.aborted) return;
      const at = {
        publicPort: portOf(publicUrl, ports.publicPort),
        internalPort: portOf(internalUrl, ports.internalPort),
      };
      // In a turn of its own: whoever asked for it is answered first.
      restarting = new Promise<void>((resolve) => void systemClock.soon(resolve))
        .then(() => restart(at))
        .catch((thrown: unknown) => log.error({ err: toError(thrown) }, 'a restart of the gateway failed'))
        .finally(() => (restarting = undefined));
    },
    async stop() {
      stopping.abort();
      await restarting;
      await current?.stop();
    },
    get publicUrl() {
      return started().publicUrl;
    },
    get internalUrl() {
      return started().internalUrl;
    },
  };
}

/** An address leaves the port of its scheme out. */
const portOf = (url: string, set: number): number => (set === 0 ? Number(new URL(url).port) : set);
