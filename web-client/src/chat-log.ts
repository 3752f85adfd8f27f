/** Folds a session's events into what a chat shows: what people said, and the answers that are made of UI chunks. */
import { chunkOf, isEnd } from './answer-chunk.ts';
import type { AnswerChunk } from './answer-chunk.ts';
import { withoutErrors } from './chat-entry.ts';
import type { Answer, Change, Run, Saying } from './chat-entry.ts';
import type { SessionEvent } from './session-event.ts';

export interface ChatLog {
  /** In order; abandoned attempts are not among them. */
  readonly entries: readonly (Saying | Answer)[];
  /** The run that is being written. */
  readonly open: Run | undefined;
  /** An answer is being written, or must come: a turn has begun, or what a person said or decided is the last word. */
  readonly isBusy: boolean;
  /** While it is busy, or its turn waits, where that began: whoever reads from here sees all of it. */
  readonly since: number | undefined;
  /** What came before the first event that was taken would change neither `isBusy` nor what is being written. */
  readonly isWhole: boolean;
  /** In order, contiguous, each once. */
  take(event: SessionEvent): readonly Change[];
}

interface Turn {
  readonly id: string;
  readonly attempt: number;
  readonly since: number;
}

/** What the events of the session itself hold that matters here. */
interface Data {
  readonly turn?: unknown;
  readonly attempt?: unknown;
  readonly key?: unknown;
  readonly role?: unknown;
  readonly content?: unknown;
  readonly error?: { readonly message?: unknown };
  readonly approval?: unknown;
  readonly approvals?: unknown;
  readonly inputs?: unknown;
}

export function createChatLog(): ChatLog {
  let entries: (Saying | Answer)[] = [];
  let open: { readonly run: Run; readonly answer: Answer } | undefined;
  let turn: Turn | undefined;
  let expectedSince: number | undefined;
  /** What the user said while a turn ran, which is for the next one. */
  let queued: readonly number[] = [];
  /** The turn waits for somebody's decision about these; `any` where it does not name them. */
  let asked: ReadonlySet<unknown> | 'any' | undefined;
  /** The answer that such a turn may go on with; `unseen` where it may lie before the first event that was taken. */
  let paused: Answer | 'unseen' | undefined;
  /** The turn whose first attempt was seen to begin. */
  let begun: unknown;
  /** Whether the events that were taken tell if anything is being written; `midway` is what belongs to an earlier start. */
  let known: 'nothing' | 'midway' | 'all' = 'nothing';

  /** Whatever an older attempt at the turn has said is void. */
  function reach(id: string, attempt: number, sequence: number): Change[] {
    const newest = turn?.id === id ? turn : undefined;
    if (newest !== undefined && newest.attempt >= attempt) return [];
    turn = { id, attempt, since: newest?.since ?? sequence };
    // The number of a turn's first attempt may be any: an answer of nobody's is its own only if it was there before.
    const isVoid = (run: Run): boolean =>
      run.turn === id ? run.attempt < attempt : newest !== undefined && run.turn === undefined && run === open?.run;
    const changes: Change[] = [];
    for (const entry of entries) {
      if (entry.kind === 'saying' || !entry.runs.some(isVoid)) continue;
      entry.runs = entry.runs.filter((run) => !isVoid(run));
      changes.push({
        kind: 'abandoned',
        id: entry.id,
        rest: withoutErrors(entry.runs.flatMap(({ chunks }) => chunks)),
      });
    }
    entries = entries.filter((entry) => entry.kind === 'saying' || entry.runs.length > 0);
    if (open !== undefined && isVoid(open.run)) open = undefined;
    return changes;
  }

  function start(chunk: AnswerChunk, sequence: number): Change[] {
    const given = typeof chunk.messageId === 'string' ? chunk.messageId : '';
    const isNamed = given !== '';
    const id = isNamed ? given : `message-${sequence}`;
    const named = { ...chunk, messageId: id };
    const run: Run = { turn: turn?.id, attempt: turn?.attempt ?? 1, chunks: [named] };
    const before = entries.at(-1);
    let answer: Answer;
    if (before?.kind === 'answer' && before.id === id) {
      answer = before;
      answer.runs = [...answer.runs, run];
    } else {
      answer = { kind: 'answer', id, isNamed, first: sequence, runs: [run] };
      entries.push(answer);
    }
    open = { run, answer };
    expectedSince = undefined;
    paused = undefined;
    known = 'all';
    return [{ kind: 'chunk', chunk: named }];
  }

  function takeChunk(chunk: AnswerChunk, sequence: number): Change[] {
    if (chunk.type === 'start') return start(chunk, sequence);
    if (open === undefined) {
      const answer = entries.findLast((entry) => entry.kind === 'answer');
      // What was added behind the end still belongs to the answer; without one, its beginning lies further back.
      if (answer === undefined) settle(isEnd(chunk) ? 'all' : 'midway');
      else if (!isEnd(chunk)) answer.runs.at(-1)?.chunks.push(chunk);
      return [];
    }
    open.run.chunks.push(chunk);
    if (isEnd(chunk)) settle('all');
    return [{ kind: 'chunk', chunk }];
  }

  function settle(now: 'midway' | 'all'): void {
    open = undefined;
    expectedSince = undefined;
    asked = undefined;
    known = now;
  }

  function endTurn(type: string, { turn: id, error }: Data): Change[] {
    if (open?.run.turn !== undefined && typeof id === 'string' && id !== open.run.turn) return [];
    const wasBusy = open !== undefined || expectedSince !== undefined;
    turn = undefined;
    paused = undefined;
    settle('all');
    [expectedSince] = queued;
    queued = [];
    const otherwise = failures.get(type);
    if (!wasBusy || otherwise === undefined) return [];
    const errorText = typeof error?.message === 'string' ? error.message : otherwise;
    return [{ kind: 'chunk', chunk: errorChunk(errorText) }];
  }

  /** What the turn has said so far stands, whichever attempt goes on with it. */
  function pause({ turn: id, approvals }: Data, sequence: number): void {
    paused = begun === id ? undefined : 'unseen';
    for (const entry of entries) {
      for (const run of entry.kind === 'answer' ? entry.runs : []) {
        if (run.turn !== id) continue;
        run.turn = undefined;
        if (entry.kind === 'answer') paused = entry;
      }
    }
    if (turn !== undefined && turn.id === id) turn = { ...turn, since: sequence };
    settle('all');
    asked = Array.isArray(approvals) ? new Set(approvals) : 'any';
  }

  /** After the last decision the turn goes on. */
  function decide({ approval }: Data, sequence: number): void {
    if (asked === undefined && known !== 'nothing') return;
    const others = asked === undefined || asked === 'any' ? [] : [...asked].filter((other) => other !== approval);
    if (others.length > 0) asked = new Set(others);
    else expectedSince ??= sequence;
  }

  function say({ role, key, content }: Data, sequence: number, isOfTurn: boolean): void {
    if (role !== 'user' && role !== 'system' && role !== 'assistant') return;
    const id = typeof key === 'string' && key !== '' ? key : `message-${sequence}`;
    entries.push({ kind: 'saying', id, role, content });
    if (role === 'user' && turn !== undefined && !isOfTurn) queued = [...queued, sequence];
    if (open !== undefined || known === 'midway') return;
    known = 'all';
    expectedSince = role === 'user' ? (expectedSince ?? sequence) : undefined;
  }

  return {
    get entries() {
      return entries;
    },
    get open() {
      return open?.run;
    },
    get isBusy() {
      return open !== undefined || expectedSince !== undefined;
    },
    get since() {
      const began = (typeof paused === 'object' ? paused.first : undefined) ?? open?.answer.first ?? expectedSince;
      return began === undefined ? undefined : Math.min(began, turn?.since ?? began);
    },
    get isWhole() {
      const answer = open?.answer ?? paused;
      if (answer === undefined) return known === 'all';
      // One that has a name may have begun before, in an earlier run.
      return answer !== 'unseen' && (!answer.isNamed || entries.indexOf(answer) > 0);
    },
    take({ turn: turnId, attempt = 1, ...event }) {
      // Fenced off in the ledger, and yet: what an older attempt says now is nothing.
      if (turnId !== undefined && turn?.id === turnId && attempt < turn.attempt) return [];
      const before = turn?.id;
      const changes = turnId === undefined ? [] : reach(turnId, attempt, event.sequence);
      const chunk = chunkOf(event);
      if (chunk !== undefined) return [...changes, ...takeChunk(chunk, event.sequence)];
      const data: Data = typeof event.data === 'object' && event.data !== null ? event.data : {};
      switch (event.type) {
        case 'message.created':
          say(data, event.sequence, turnId !== undefined);
          return changes;
        case 'turn.started': {
          const number = typeof data.attempt === 'number' ? data.attempt : 1;
          const more = typeof data.turn === 'string' ? reach(data.turn, number, event.sequence) : [];
          settle('all');
          if (number === 1) begun = data.turn;
          // One that is tried again takes nothing more.
          if (before !== data.turn) queued = [];
          expectedSince = event.sequence;
          return [...changes, ...more];
        }
        case 'turn.waiting':
          pause(data, event.sequence);
          return changes;
        case 'approval.decided':
          decide(data, event.sequence);
          return changes;
        case 'turn.steered': {
          const { inputs } = data;
          if (Array.isArray(inputs)) queued = queued.filter((sequence) => !inputs.includes(sequence));
          return changes;
        }
        case 'turn.completed':
        case 'turn.failed':
        case 'turn.cancelled':
        case 'turn.in_doubt':
          return [...changes, ...endTurn(event.type, data)];
        case 'message.completed':
          if (open === undefined) settle('all');
          return changes;
        default:
          return changes;
      }
    },
  };
}

/** What is said of a turn that ended without an answer. */
const failures: ReadonlyMap<string, string> = new Map([
  ['turn.failed', 'The turn failed.'],
  ['turn.in_doubt', 'Nobody knows what became of a step: a person must resolve it.'],
]);

const errorChunk = (errorText: string) => ({ type: 'error', errorText });
