/** What the protocol's tests say of turns, again and again: a person's words, a worker's claim, how an attempt ends. */
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { Answer, Caller } from './deployment.ts';
import { eventually } from './waits.ts';

export interface Claimed {
  readonly session: string;
  readonly turn: string;
  readonly attempt: number;
  readonly try: number;
  readonly maxAttempts: number;
  readonly leaseMs: number;
  readonly deadline: string;
  readonly head: number;
  readonly inputs: readonly {
    readonly sequence: number;
    readonly at: string;
    readonly data: Record<string, unknown>;
  }[];
  readonly decisions: readonly Record<string, unknown>[];
}

export interface Told {
  readonly sequence: number;
  readonly type: string;
  readonly turn?: string;
  readonly attempt?: number;
  readonly data: Record<string, unknown>;
}

export interface TurnCaller {
  /** With a key of its own, unless one is given. */
  message(session: string, content: unknown, more?: object): Promise<Answer>;
  decide(session: string, body: object, subject?: string): Promise<Answer>;
  stop(session: string, turn?: string): Promise<Answer>;
  /** All that is to be claimed; what another test left over is given back. */
  claim(session: string, more?: object): Promise<Claimed>;
  /** As a worker, about the turn that it claimed. */
  settle(claimed: Claimed, what: string, body?: object): Promise<Answer>;
  append(claimed: Claimed, type: string, data: string): Promise<Answer>;
  /** As its worker, about a step of the turn: `model`, `start` or `settle`. */
  step(claimed: Claimed, index: number, what: string, body: object): Promise<Answer>;
  /** What the turn's journal has. */
  journal(claimed: Claimed): Promise<Record<string, unknown>[]>;
  /** The turn in the session's description. */
  now(session: string): Promise<unknown>;
  events(session: string): Promise<Told[]>;
}

export function turnCaller(call: Caller): TurnCaller {
  const self: TurnCaller = {
    message: (session, content, more = {}) =>
      call.reader('POST', `/sessions/${session}/messages`, {
        body: JSON.stringify({ key: randomUUID(), content, ...more }),
      }),
    decide: (session, body, subject = 'tester') =>
      call.reader('POST', `/sessions/${session}/decisions`, { body: JSON.stringify(body), token: { subject } }),
    stop: (session, turn) =>
      call.reader('POST', `/sessions/${session}/stop`, turn === undefined ? {} : { body: JSON.stringify({ turn }) }),
    claim: (session, more = {}) =>
      eventually(`${session} is claimed`, async () => {
        const body = JSON.stringify({ worker: 'tester', limit: 50, waitMs: 5_000, ...more });
        const { text } = await call.internal('POST', '/internal/turns/claim', body);
        const { turns } = JSON.parse(text) as { turns: Claimed[] };
        for (const other of turns) if (other.session !== session) await self.settle(other, 'release');
        return turns.find((claimed) => claimed.session === session);
      }),
    settle: ({ session, turn, attempt }, what, body = {}) =>
      call.internal(
        'POST',
        `/internal/sessions/${session}/turns/${turn}/${what}`,
        JSON.stringify({ attempt, ...body }),
      ),
    append: ({ session, turn, attempt }, type, data) =>
      call.internal(
        'POST',
        `/internal/sessions/${session}/events`,
        `{"fence":${JSON.stringify({ turn, attempt })},"events":[{"type":"${type}","data":${data}}]}`,
      ),
    step: (claimed, index, what, body) => self.settle(claimed, `steps/${index}/${what}`, body),
    async journal({ session, turn }) {
      const answer = await call.internal('GET', `/internal/sessions/${session}/turns/${turn}/steps`);
      return (answer.json as { steps: Record<string, unknown>[] }).steps;
    },
    async now(session) {
      return ((await call.reader('GET', `/sessions/${session}`)).json as { turn: unknown }).turn;
    },
    async events(session) {
      return ((await call.reader('GET', `/sessions/${session}/events?limit=1000`)).json as { events: Told[] }).events;
    },
  };
  return self;
}

export function expectProblem(answer: Answer, status: number, code: string, fields: object = {}): void {
  expect(answer.json).toMatchObject({ type: `urn:ledgerline:problem:${code}`, status, ...fields });
  expect(answer.status).toBe(status);
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
}
