/** All rooms of the process: opened by the first reader of a session, kept a moment after the last. */
import type { Clock, Timer } from '../base/clock.ts';
import { limits } from '../base/limits.ts';
import type { Log } from '../base/log.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Service } from '../base/service.ts';
import type { Bus } from '../bus/bus.ts';
import { begin } from '../event/cursor.ts';
import type { Cursor } from '../event/sequence.ts';
import type { Head, Ledger } from '../ledger/ledger.ts';
import { goawayFrame } from '../sse/frame.ts';
import { HeadCheck } from './head-check.ts';
import type { RoomsObserver } from './observer.ts';
import { Replay } from './replay.ts';
import { Room } from './room.ts';
import type { JoinRequest, Shared } from './room.ts';
import type { Subscriber } from './subscriber.ts';
import { SyncWheel } from './sync.ts';
import { TailBudget } from './tail-budget.ts';
import { walkInTurns } from './turns.ts';

export type { JoinRequest };

export interface Rooms extends Service {
  /** A read that begins now or later, shared with others. Rejects when the ledger cannot answer. */
  readHead(session: string): Promise<Head | undefined>;
  /** The whole stream from its first bytes: retry, hello, a reset if one is due, events, connected, what comes. */
  join(request: JoinRequest): void;
  describe(session: string): { watermark: Cursor; subscribers: number } | undefined;
  /** Tells every reader to go and come back, each in its own slot of the window. */
  drain(windowMs: number): void;
  readonly subscribers: number;
}

export interface RoomsOptions {
  readonly ledger: Pick<Ledger, 'page' | 'heads'>;
  readonly bus: Bus;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Milliseconds since the epoch by the clock that stamps events; this host's if left out. */
  readonly wall?: () => number;
  readonly observer?: RoomsObserver | undefined;
}

/** How long `stop` waits for the last bytes of streams that were told to go, when all of them were. */
const farewellMs = 1_000;

export const createRooms = (options: RoomsOptions): Rooms => new OpenRooms(options);

class OpenRooms implements Rooms {
  readonly name = 'rooms';
  readonly #rooms = new Map<string, Room>();
  readonly #lingering = new Map<string, Timer>();
  readonly #shared: Shared;
  #drainWindowMs: number | undefined;
  /** Every reader that was there when the drain began has been told to go, however long that took. */
  #farewells: Promise<void> | undefined;
  /** Resolves `stop` when the last subscriber has left. */
  #onDeserted: (() => void) | undefined;

  constructor(options: RoomsOptions) {
    const { bus, clock, log, metrics, observer, wall = () => clock.wall() } = options;
    this.#shared = {
      bus,
      clock,
      log,
      metrics,
      wall,
      observer,
      budget: new TailBudget(),
      replay: new Replay(options),
      headCheck: new HeadCheck({ ...options, rooms: this.#rooms }),
      wheel: new SyncWheel((subscriber) => subscriber.beat(), clock),
    };
  }

  get subscribers(): number {
    let count = 0;
    for (const room of this.#rooms.values()) count += room.subscribers.size;
    return count;
  }

  start(): Promise<void> {
    this.#shared.headCheck.start();
    this.#shared.wheel.start();
    return Promise.resolve();
  }

  async stop(): Promise<void> {
    if (this.#drainWindowMs === undefined) this.drain(0);
    await this.#farewells;
    await this.#deserted();
    for (const room of this.#rooms.values()) for (const subscriber of room.subscribers) subscriber.destroy('draining');
    for (const session of this.#rooms.keys()) this.#close(session);
    this.#shared.headCheck.stop();
    this.#shared.replay.stop();
    this.#shared.wheel.stop();
  }

  readHead(session: string): Promise<Head | undefined> {
    return this.#shared.headCheck.read(session);
  }

  join(request: JoinRequest): void {
    const { session, head, requested, writer } = request;
    if (this.#drainWindowMs !== undefined) {
      const retryMs = this.#drainWindowMs * this.#shared.clock.random();
      writer.write(goawayFrame(begin(requested, head.head, head.floor).after, retryMs));
      return writer.end();
    }
    const room = this.#rooms.get(session) ?? this.#open(session, head);
    this.#lingering.get(session)?.cancel();
    this.#lingering.delete(session);
    room.join(request);
  }

  describe(session: string): { watermark: Cursor; subscribers: number } | undefined {
    const room = this.#rooms.get(session);
    return room && { watermark: room.watermark, subscribers: room.subscribers.size };
  }

  drain(windowMs: number): void {
    if (this.#drainWindowMs !== undefined) return;
    this.#drainWindowMs = windowMs;
    const leaving: Subscriber[] = [...this.#rooms.values()].flatMap((room) => [...room.subscribers]);
    const { clock } = this.#shared;
    let slot = 0;
    const farewell = (subscriber: Subscriber): void => {
      subscriber.goAway((windowMs * (slot++ + clock.random())) / leaving.length);
    };
    this.#farewells = new Promise((resolve) => void walkInTurns(leaving, farewell, clock, resolve));
  }

  #open(session: string, head: Head): Room {
    const room = new Room(session, head, this.#shared, () => this.#linger(session));
    this.#rooms.set(session, room);
    this.#shared.metrics.rooms.set(this.#rooms.size);
    return room;
  }

  /** A reader that reloads or reconnects finds the room, its tail and its subscription still there. */
  #linger(session: string): void {
    if (this.#onDeserted !== undefined && this.subscribers === 0) this.#onDeserted();
    const timer = this.#shared.clock.after(limits.roomLingerMs, () => this.#close(session));
    this.#lingering.set(session, timer);
  }

  #close(session: string): void {
    this.#lingering.get(session)?.cancel();
    this.#lingering.delete(session);
    this.#rooms.get(session)?.close();
    this.#rooms.delete(session);
    this.#shared.metrics.rooms.set(this.#rooms.size);
  }

  #deserted(): Promise<void> {
    return new Promise((resolve) => {
      if (this.subscribers === 0) return resolve();
      const late = this.#shared.clock.after(farewellMs, resolve);
      this.#onDeserted = () => {
        late.cancel();
        resolve();
      };
    });
  }
}
