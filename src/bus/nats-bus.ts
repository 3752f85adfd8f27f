/** The bus over core NATS: one connection at a time, made again for ever, and every subscription put on each. */
import { backoffMs } from '../base/backoff.ts';
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { toError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import { detach, withDeadline } from '../base/service.ts';
import type { Broadcast, Bus, Pending, SuspectReason } from './bus.ts';
import { dial } from './nats-connection.ts';
import type { Connection } from './nats-connection.ts';
import { nameOf, parseServers } from '../base/nats-server.ts';
import { checkSubjectRoot, decode, decodeWake, encode, encodeWake, subjectOf, wakeSubjectOf } from './wire.ts';
import type { Carried } from './wire.ts';

export interface NatsBusOptions {
  readonly url: string;
  readonly subjectRoot: string;
  readonly log: Log;
  readonly metrics: Metrics;
  readonly clock: Clock;
}

/** A subscription that somebody wants; it outlives connections. */
interface Wanted {
  readonly subject: string;
  readonly receive: (bytes: Uint8Array) => void;
  readonly confirm: () => void;
  unsubscribe?: () => void;
}

/** How a broadcast went, for the count. */
type Sent = Carried | 'away' | 'overflow' | 'failed';

const reconnect = { firstMs: 50, capMs: 2_000 } as const;

/** Each server of a cluster after the other, for ever. */
function* inTurn<Value>(values: readonly Value[]): Generator<Value> {
  for (;;) yield* values;
}

export function natsBus({ url, subjectRoot, log, metrics, clock }: NatsBusOptions): Bus {
  const servers = parseServers(url);
  checkSubjectRoot(subjectRoot);
  const wanted = new Set<Wanted>();
  const suspicious = new Set<(reason: SuspectReason) => void>();
  const stopping = new AbortController();
  let connection: Connection | undefined;
  let isAway = true;
  let isOverflowing = false;
  let life: Promise<void> | undefined;

  function suspect(reason: SuspectReason): void {
    for (const listener of suspicious) {
      try {
        listener(reason);
      } catch (thrown) {
        log.error({ err: toError(thrown), reason }, 'a listener of the bus failed');
      }
    }
  }

  function setAway(value: boolean): void {
    isAway = value;
    metrics.busAway.set(value ? 1 : 0);
  }

  function attach(to: Connection, subscription: Wanted): void {
    subscription.unsubscribe = to.subscribe(subscription.subject, subscription.receive);
  }

  /** What is not ours is counted and let go. */
  const read =
    <Said>(decoded: (bytes: Uint8Array) => Said | undefined, listener: (said: Said) => void) =>
    (bytes: Uint8Array): void => {
      const said = decoded(bytes);
      if (said === undefined) metrics.broadcasts.count('foreign');
      else listener(said);
    };

  function want(subject: string, receive: (bytes: Uint8Array) => void): Pending {
    let confirm: () => void = () => undefined;
    const ready = new Promise<void>((resolve) => (confirm = resolve));
    const subscription: Wanted = { subject, receive, confirm };
    wanted.add(subscription);
    if (connection?.isOpen === true) {
      attach(connection, subscription);
      const flushed = connection.flushed().then((hasIt) => (hasIt ? confirm() : undefined));
      detach(flushed, log, 'a subscription was not confirmed');
    }
    return {
      ready,
      unsubscribe() {
        if (!wanted.delete(subscription)) return;
        subscription.unsubscribe?.();
        confirm();
      },
    };
  }

  /** Whatever came in between is lost, so the bus counts as away until the server has every subscription. */
  async function live(current: Connection, confirmed: () => void): Promise<void> {
    connection = current;
    isOverflowing = false;
    const attached = [...wanted];
    for (const subscription of attached) attach(current, subscription);
    if (await current.flushed()) {
      for (const subscription of attached) subscription.confirm();
      setAway(false);
      suspect('reconnected');
    }
    confirmed();
    await current.lost;
    connection = undefined;
    const wasAway = isAway;
    setAway(true);
    if (!wasAway && !stopping.signal.aborted) suspect('away');
  }

  function onError(message: string): void {
    log.error({ reason: message }, 'the NATS server refused something');
    suspect('dropped');
  }

  /** Until stopped: dial, live, wait. `tried` is called when a try has succeeded or failed. */
  async function run(tried: () => void): Promise<void> {
    let attempt = 0;
    for (const server of inTurn(servers)) {
      if (stopping.signal.aborted) return;
      const place = { server: nameOf(server) };
      try {
        const current = await dial({ server, signal: stopping.signal, log, onError });
        // The client cannot be stopped while it dials.
        if (stopping.signal.aborted) return await current.close();
        log.info(place, 'connected to NATS');
        const since = clock.now();
        await live(current, tried);
        if (!stopping.signal.aborted) log.warn(place, 'lost the connection to NATS');
        // A server that takes connections only to end them is not asked at full speed.
        if (clock.now() - since > reconnect.capMs) attempt = 0;
      } catch (thrown) {
        if (!stopping.signal.aborted) log.warn({ err: toError(thrown), ...place }, 'NATS is away');
      }
      tried();
      await sleep(backoffMs(reconnect, attempt, clock.random()), stopping.signal);
      attempt += 1;
    }
  }

  function send(session: string, broadcast: Broadcast): Sent {
    if (connection?.isOpen !== true) return 'away';
    const message = encode(broadcast, connection.maxPayloadBytes);
    if (connection.publish(subjectOf(subjectRoot, session), message.bytes)) {
      isOverflowing = false;
      return message.carried;
    }
    if (!isOverflowing) suspect('dropped');
    isOverflowing = true;
    return 'overflow';
  }

  return {
    name: 'bus',
    get isAway() {
      return isAway;
    },
    start() {
      setAway(true);
      // A server that is away does not keep the gateway from starting: rooms poll the ledger meanwhile.
      return new Promise((resolve) => {
        life = run(resolve).finally(resolve);
        detach(life, log, 'the NATS connection is no longer looked after');
      });
    },
    async stop() {
      stopping.abort();
      const current = connection;
      if (current !== undefined) {
        await withDeadline(current.flushed(), limits.busSubscribeDeadlineMs, 'NATS').catch((error: unknown) =>
          log.warn({ err: toError(error) }, 'the last broadcasts may be lost'),
        );
        await current.close();
      }
      await life;
      wanted.clear();
    },
    publish(session, broadcast) {
      let kind: Sent = 'failed';
      try {
        kind = send(session, broadcast);
      } catch (thrown) {
        log.error({ err: toError(thrown), session }, 'a broadcast failed');
      }
      metrics.broadcasts.count(kind);
    },
    subscribe: (session, listener) => want(subjectOf(subjectRoot, session), read(decode, listener)),
    wake(wake) {
      try {
        if (connection?.isOpen === true) connection.publish(wakeSubjectOf(subjectRoot), encodeWake(wake));
      } catch (thrown) {
        log.error({ err: toError(thrown) }, 'a wake-up failed');
      }
    },
    onWake: (listener) => want(wakeSubjectOf(subjectRoot), read(decodeWake, listener)),
    onSuspect(listener) {
      const own = (reason: SuspectReason) => listener(reason);
      suspicious.add(own);
      return { unsubscribe: () => suspicious.delete(own) };
    },
  };
}
