/** A timeline while events are folded into it: finds, adds and changes items, and knows whose each event is. */
import type { SessionEvent } from './session-event.ts';
import { fieldsOf, numberOf, textOf } from './timeline-data.ts';
import type { TimelineItem } from './timeline-item.ts';
import { cover, lookUp } from './timeline-layers.ts';
import type { Memory, Slot, Tries } from './timeline-memory.ts';

type Kind = TimelineItem['kind'];
export type ItemOf<K extends Kind> = Extract<TimelineItem, { kind: K }>;
type Given = 'key' | 'first' | 'last' | 'at' | 'turn' | 'attempt' | 'isAbandoned';
/** What an item has beside what every item has; a turn says itself whose it is. */
type Body<K extends Kind> = K extends Kind
  ? Omit<ItemOf<K>, Given> & Partial<Pick<ItemOf<K>, 'turn' | 'attempt'>>
  : never;

/**
 * What an id in the log stands for. A part of the AI SDK's message bears its id only until it ends; a tool has one of its call,
 * and one of its step in the turn's journal.
 */
type Space = Kind | 'part-message' | 'part-reasoning' | 'step-tool';
type KindIn<S extends Space> = S extends `${'part' | 'step'}-${infer K extends Kind}` ? K : S extends Kind ? S : never;

/** A session has one turn at a time; what never ends must not pile up. */
const MOST_OPEN = 16;
/** They may carry the number that the next attempt would have had, so that nobody else writes with it. */
const afterwards = /^turn\.(?:steered|stopping|retrying|completed|failed|cancelled)$|\.in_doubt$/;

export interface Found<K extends Kind> extends Slot {
  readonly item: ItemOf<K>;
}

export class Draft {
  items: readonly TimelineItem[];
  /** The event that is being folded, and whose it is. */
  event!: SessionEvent;
  turn: string | undefined;
  attempt: number | undefined;
  /** A newer attempt at its turn has begun before: what this one does moves nothing of that one. */
  isStale = false;
  memory: Memory;
  #own: TimelineItem[] | undefined;
  /** Made in this fold, so that nobody has seen them yet. */
  readonly #fresh = new Set<TimelineItem>();
  /** What was looked for last: a text comes in hundreds of pieces. */
  #space: Space | undefined;
  #id = '';
  #slot: Slot | undefined;
  readonly #slots = new Map<string, Slot>();
  readonly #tries = new Map<string, Tries>();

  constructor(items: readonly TimelineItem[], memory: Memory) {
    this.items = items;
    this.memory = memory;
  }

  /** What the next fold goes on with. */
  close(): Memory {
    const { slots, tries } = this.memory;
    return { ...this.memory, slots: cover(slots, this.#slots), tries: cover(tries, this.#tries) };
  }

  note(more: Partial<Pick<Memory, 'thought' | 'stream' | 'step' | 'message' | 'asked'>>): void {
    if (!this.isStale) this.memory = { ...this.memory, ...more };
  }

  /** A higher attempt than the turn's last one abandons what that one did. How an attempt ended begins none. */
  enter(event: SessionEvent): void {
    const { type } = event;
    const named = /^(?:turn|approval|step)\./.test(type) ? fieldsOf(event.data) : undefined;
    const ofTurn = textOf(named?.turn) ?? textOf(event.turn);
    // What was taken back before any turn began is of none.
    const turn = ofTurn ?? (type === 'turn.cancelled' ? undefined : this.memory.open.at(-1));
    const known = turn === undefined ? undefined : this.#triesOf(turn);
    const attempt = numberOf(named?.attempt) ?? numberOf(event.attempt) ?? known?.attempt;
    this.event = event;
    this.turn = turn;
    this.attempt = turn === undefined ? undefined : attempt;
    this.isStale = (this.attempt ?? 0) < (known?.attempt ?? 0);
    if (turn === undefined || this.isStale || (known !== undefined && known.attempt === this.attempt)) return;
    const isNewer = known?.attempt !== undefined;
    if (isNewer && afterwards.test(type)) return;
    if (isNewer) this.abandon(known.from);
    this.#tries.set(turn, {
      from: isNewer || known === undefined ? this.items.length : known.from,
      attempt: this.attempt,
    });
  }

  find<S extends Space>(space: S, id: string): Found<KindIn<S>> | undefined {
    if (space !== this.#space || id !== this.#id || this.isStale) {
      const name = this.#name(space, id);
      this.#slot = this.#slots.get(name) ?? lookUp(this.memory.slots, name);
      this.#space = this.isStale ? undefined : space;
      this.#id = id;
    }
    const slot = this.#slot;
    return slot && { place: slot.place, isSealed: slot.isSealed, item: this.items[slot.place] as ItemOf<KindIn<S>> };
  }

  /** An id may be used again by another turn, and is by another attempt. */
  findOwn<S extends Space>(space: S, id: string): Found<KindIn<S>> | undefined {
    const found = this.find(space, id);
    const turn = found?.item.turn;
    const isOwn = turn === this.turn || turn === undefined || this.turn === undefined;
    return isOwn && found?.item.isAbandoned === this.isStale ? found : undefined;
  }

  add<S extends Space>(body: Body<KindIn<S>>, space?: S, id = ''): void {
    const { sequence, at } = this.event;
    if (space !== undefined) this.#keep(space, id, { place: this.items.length, isSealed: false });
    const item = {
      key: String(sequence),
      first: sequence,
      last: sequence,
      at,
      turn: this.turn,
      attempt: this.attempt,
      isAbandoned: this.isStale,
      ...body,
    } as unknown as TimelineItem;
    this.#fresh.add(item);
    this.#write().push(item);
  }

  change<K extends Kind>({ place, item }: Found<K>, change: Partial<Body<K>>): void {
    this.#put(place, item, change as Partial<TimelineItem>, this.event.sequence);
  }

  /** As part of what happens to something else. */
  amend<K extends Kind>({ place, item }: Found<K>, change: Partial<Body<K>>): void {
    this.#put(place, item, change as Partial<TimelineItem>);
  }

  /** What the id stands for has its final text. */
  seal(space: Space, id: string): void {
    const found = this.find(space, id);
    if (found !== undefined) this.#keep(space, id, { place: found.place, isSealed: true });
  }

  /** Another id stands for the same item. */
  name(space: Space, id: string, place: number): void {
    this.#keep(space, id, { place, isSealed: false });
  }

  /** The event's turn begins, or goes on. */
  begin(): void {
    this.#reopen(this.turn);
  }

  /** The event's turn is over: nothing of it is still being written. */
  end(): void {
    this.#reopen();
    this.halt();
  }

  /** The event's attempt is. */
  halt(): void {
    this.finish(this.#triesOf(this.turn as string)?.from ?? 0);
  }

  /** The event's turn pauses. What it did so far stands, whichever attempt goes on with it. */
  pause(): void {
    const { from, attempt } = this.#triesOf(this.turn as string) as Tries;
    this.finish(from);
    this.#tries.set(this.turn as string, { from: this.items.length, attempt });
  }

  /** Nothing is being written any more of what the turn has said from `place` on. */
  finish(place: number): void {
    this.#changeFrom(place, (item) => 'isComplete' in item && !item.isComplete && { isComplete: true });
  }

  /** What people said stands, whatever becomes of the attempt that ran meanwhile. */
  abandon(place: number): void {
    this.#changeFrom(
      place,
      (item) => !item.isAbandoned && !(item.kind === 'message' && item.role === 'user') && { isAbandoned: true },
    );
  }

  /** The turn goes on: its last thought is complete. */
  endThought(): void {
    const { thought } = this.memory;
    const item = this.items[thought] as ItemOf<'reasoning'> | undefined;
    if (item === undefined || item.turn !== this.turn || this.isStale) return;
    if (!item.isComplete) this.#put(thought, item, { isComplete: true });
    this.note({ thought: -1 });
  }

  #reopen(turn?: string): void {
    const others = this.memory.open.filter((other) => other !== this.turn).slice(1 - MOST_OPEN);
    this.memory = { ...this.memory, open: turn === undefined ? others : [...others, turn] };
  }

  #changeFrom(place: number, change: (item: TimelineItem) => false | Partial<TimelineItem>): void {
    for (let index = place; index < this.items.length && !this.isStale; index += 1) {
      const item = this.items[index] as TimelineItem;
      const changes = item.turn === this.turn && change(item);
      if (changes !== false) this.#put(index, item, changes);
    }
  }

  #put(place: number, item: TimelineItem, change: Partial<TimelineItem>, last = item.last): void {
    if (this.#fresh.has(item)) Object.assign(item, change, { last });
    else {
      const copy = { ...item, ...change, last } as TimelineItem;
      this.#fresh.add(copy);
      this.#write()[place] = copy;
    }
  }

  #keep(space: Space, id: string, slot: Slot): void {
    this.#slots.set(this.#name(space, id), slot);
    this.#space = undefined;
  }

  #triesOf(turn: string): Tries | undefined {
    return this.#tries.get(turn) ?? lookUp(this.memory.tries, turn);
  }

  /** Copied at most once a fold. */
  #write(): TimelineItem[] {
    if (this.#own === undefined) this.items = this.#own = this.items.slice();
    return this.#own;
  }

  #name(space: Space, id: string): string {
    return this.isStale ? `${this.turn}\n${this.attempt}\n${space}\n${id}` : `${space}\n${id}`;
  }
}
