/** What a screen shows of a session: one shape for each kind of item. */

interface Entry {
  /** Unique and stable in a timeline; it changes only if an older page turns out to hold the item's beginning. */
  readonly key: string;
  /** The sequences of the first and of the last event that went into the item. */
  readonly first: number;
  readonly last: number;
  /** Of the first event. */
  readonly at: string;
  /** Of the first event's envelope, else the turn that was open then. */
  readonly turn?: string | undefined;
  readonly attempt?: number | undefined;
  /** A newer attempt at its turn has begun, or the model's step was reset: it is history, and no part of the answer. */
  readonly isAbandoned: boolean;
}

export interface MessageItem extends Entry {
  readonly kind: 'message';
  /** `user`, `assistant`, or what else the producer says. */
  readonly role: string;
  readonly text: string;
  /** Nothing more is being written. */
  readonly isComplete: boolean;
  /** The key it was sent with, so that a screen finds the message that it showed before it was sent. */
  readonly request?: string | undefined;
}

export interface ReasoningItem extends Entry {
  readonly kind: 'reasoning';
  readonly text: string;
  /** It ended, or its turn has gone on to something else. */
  readonly isComplete: boolean;
}

export interface ToolItem extends Entry {
  readonly kind: 'tool';
  /** The model's own name for it. Undefined where the journal alone tells of the call. */
  readonly call?: string | undefined;
  /** Its index in the turn's journal, or whatever the agent counts. */
  readonly step?: string | number | undefined;
  /** Undefined if the call lies before what was folded. */
  readonly tool?: string | undefined;
  /** While they are still being written: their text so far. */
  readonly args?: unknown;
  /** What the tool promises of its effect: `read`, `idempotent`, `transactional`, `keyed`, `lookup` or `once`. */
  readonly effect?: string | undefined;
  /** `in_doubt`: nobody but a person can tell whether it happened. */
  readonly state: 'running' | 'done' | 'failed' | 'in_doubt';
  /** An earlier attempt made the call; this one found in the journal what came of it. */
  readonly isFromJournal?: boolean | undefined;
  /** Who said what became of it, when nobody else could tell. */
  readonly resolvedBy?: string | undefined;
  /** What others are told because of it. */
  readonly deliveries?: readonly ToolDelivery[] | undefined;
  /** Of a tool that runs: what it has so far, if it tells. */
  readonly result?: unknown;
  readonly error?: unknown;
}

export interface ToolDelivery {
  /** Of its session: contiguous, from 1. */
  readonly number: number;
  readonly topic: string;
}

export interface ApprovalItem extends Entry {
  readonly kind: 'approval';
  readonly approval: string;
  readonly call?: string | undefined;
  readonly tool?: string | undefined;
  readonly args?: unknown;
  readonly reason?: string | undefined;
  /** `approved`, `denied`, or the producer's own word; absent while nobody has decided. The first decision stands. */
  readonly decision?: string | undefined;
  readonly by?: string | undefined;
  readonly comment?: string | undefined;
  /** Its turn is over, and nobody had decided: there is nothing to decide any more. */
  readonly isVoid?: boolean | undefined;
}

/** Where a turn began, and how it ended. A turn that waited and goes on is the same item. */
export interface TurnItem extends Entry {
  readonly kind: 'turn';
  /** Empty: messages were taken back before any turn began. */
  readonly turn: string;
  /** The fence, which grows with every attempt in the session: no count of tries. */
  readonly attempt: number;
  /** Which try at the turn it is, where the server tells. */
  readonly try?: number | undefined;
  readonly state: 'running' | 'waiting' | 'completed' | 'failed' | 'cancelled' | 'in_doubt';
  readonly error?: TurnError | undefined;
}

export interface TurnError {
  readonly code: string;
  readonly message: string;
}

/** An event that this version does not know, or whose data is not what its type promises: as it came. */
export interface OtherItem extends Entry {
  readonly kind: 'other';
  readonly type: string;
  readonly data: unknown;
}

export type TimelineItem = MessageItem | ReasoningItem | ToolItem | ApprovalItem | TurnItem | OtherItem;
