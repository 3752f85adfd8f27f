/** Sessions as the server's own turns tell them, made up from a list of numbers, with what the agent does after each event. */
import fc from 'fast-check';
import type { SessionEvent } from '../../web-client/src/session-event.ts';
import type { TurnNow } from '../../web-client/src/turn-now.ts';
import { numbered } from './told-session.ts';
import type { Draft } from './told-session.ts';

export interface ToldTurns {
  readonly events: readonly SessionEvent[];
  /** After each event, as the server itself knows it. */
  readonly states: readonly { readonly state: TurnNow['state']; readonly turn?: string | undefined }[];
}

const moves = ['say', 'record', 'note', 'claim', 'steer', 'stop', 'wait', 'decide', 'retry', 'end', 'rerun'] as const;

/** The state that the server keeps on a session's head. */
class Head {
  readonly drafts: Draft[] = [];
  readonly states: { state: TurnNow['state']; turn?: string | undefined }[] = [];
  pending: number[] = [];
  inputs: number[] = [];
  last: number[] = [];
  asked: string[] = [];
  state: TurnNow['state'] = 'idle';
  turn: string | undefined;
  turns = 0;
  fence = 0;

  add(type: string, data: object, state = this.state): number {
    const isAttempts = type.startsWith('turn.') && type !== 'turn.requested' && this.turn !== undefined;
    const envelope = isAttempts ? { turn: this.turn as string, attempt: this.fence } : {};
    this.drafts.push({ type, data: { ...envelope, ...data }, ...envelope });
    this.state = state;
    this.states.push({ state, turn: this.turn });
    return this.drafts.length;
  }

  take(move: (typeof moves)[number], number: number): void {
    const isQueued = this.state === 'idle' || (this.state === 'queued' && this.turn === undefined);
    const isRunning = this.state === 'running' || this.state === 'stopping';
    if (move === 'say') {
      this.pending.push(
        this.add('message.created', { role: 'user', content: 'x', onBusy: 'steer' }, isQueued ? 'queued' : this.state),
      );
    } else if (move === 'record') this.add('message.created', { role: 'user', content: 'x' });
    else if (move === 'note') this.add('note', {});
    else if (move === 'claim' && (this.state === 'queued' || this.state === 'retrying')) this.claim(number);
    else if (move === 'steer' && isRunning) this.steer();
    else if (move === 'stop' && this.state === 'running')
      this.add('turn.stopping', { by: 'me', mode: 'stop' }, 'stopping');
    else if (move === 'stop' && this.state === 'queued' && this.turn === undefined) {
      this.add('turn.cancelled', { inputs: this.pending.splice(0), reason: 'stopped' }, 'idle');
    } else if (move === 'wait' && isRunning) this.wait(number);
    else if (move === 'decide' && this.asked.length > 0) {
      const approval = this.asked.shift();
      this.add(
        'approval.decided',
        { turn: this.turn, approval, decision: 'denied' },
        this.asked.length > 0 ? 'waiting' : 'queued',
      );
    } else if (move === 'retry' && isRunning) {
      this.add('turn.retrying', { reason: 'lost', inMs: number }, 'retrying');
    } else if (move === 'end' && this.turn !== undefined) this.end(number);
    else if (move === 'rerun' && isQueued && this.last.length > 0) {
      this.pending.push(...this.last);
      this.add('turn.requested', { turn: `t${this.turns}`, by: 'me', inputs: this.last.splice(0) }, 'queued');
    }
  }

  claim(number: number): void {
    this.fence += 1 + (number % 3);
    if (this.turn === undefined) {
      this.turns += 1;
      this.turn = `t${this.turns}`;
      this.inputs = this.pending.splice(0);
    }
    this.add('turn.started', { try: 1, inputs: this.inputs }, 'running');
  }

  steer(): void {
    const inputs = this.pending.splice(0);
    this.inputs = [...this.inputs, ...inputs];
    this.add('turn.steered', { inputs });
  }

  wait(number: number): void {
    this.asked = Array.from({ length: 1 + (number % 2) }, (_, index) => `a${this.drafts.length}-${index}`);
    for (const approval of this.asked) this.add('approval.required', { turn: this.turn, approval });
    this.add('turn.waiting', { approvals: [...this.asked] }, 'waiting');
  }

  end(number: number): void {
    const type = ['turn.completed', 'turn.failed', 'turn.cancelled', 'turn.in_doubt'][number % 4] ?? 'turn.completed';
    const state = this.pending.length > 0 ? 'queued' : 'idle';
    const error = { code: 'broken', message: 'It broke.' };
    this.add(type, { inputs: this.inputs, ...(type === 'turn.failed' && { error }), step: number }, state);
    this.last = [...this.inputs];
    this.turn = undefined;
    this.asked = [];
    // `add` showed it as it was before the end
    this.states[this.states.length - 1] = { state };
  }
}

export const toldTurns: fc.Arbitrary<ToldTurns> = fc
  .array(fc.tuple(fc.constantFrom(...moves), fc.nat({ max: 9 })), { maxLength: 60, size: 'max' })
  .map((steps) => {
    const head = new Head();
    for (const [move, number] of steps) head.take(move, number);
    return { events: numbered(head.drafts), states: head.states };
  });
