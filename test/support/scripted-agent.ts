/** An agent that a test plays by hand over the internal HTTP: it takes a session's turn, speaks, calls, asks, fails or finishes. */
import { call } from './gateway-calls.ts';
import type { Place } from './gateway-calls.ts';
import { eventually } from './waits.ts';

export interface HeldTurn {
  readonly turn: string;
  readonly attempt: number;
  readonly try: number;
  /** What the messages say that it answers. */
  readonly inputs: readonly unknown[];
  readonly decisions: readonly {
    readonly approval: string;
    readonly decision: string;
    readonly comment: string | null;
  }[];
  /** A piece of the answer. */
  say(text: string): Promise<void>;
  /** Ends the attempt with a question. */
  ask(approval: string, question: object): Promise<void>;
  /** The model's answer at an index, asking for these calls. */
  model(index: number, calls: readonly object[]): Promise<void>;
  /** Begins a call; resolves with what is to be done. */
  start(index: number, intent: object): Promise<{ readonly do: string; readonly result?: unknown }>;
  /** What came of a call: `result` or `error`, and `deliveries`. */
  settle(index: number, intent: object, outcome: object): Promise<void>;
  finish(outcome?: 'completed' | 'cancelled'): Promise<void>;
  /** Gives the turn back, for another attempt. */
  release(): Promise<void>;
  fail(error: { readonly code: string; readonly message: string }, retryable?: boolean): Promise<void>;
  /** What a renewal says of a stop. */
  stopAsked(): Promise<string | null | undefined>;
}

interface Claimed {
  readonly session: string;
  readonly turn: string;
  readonly attempt: number;
  readonly try: number;
  readonly inputs: readonly { readonly data: { readonly content: unknown } }[];
  readonly decisions: HeldTurn['decisions'];
}

/** Waits until the session has a turn to take. What it takes of other sessions meanwhile it gives back. */
export async function takeTurn(place: Place, session: string): Promise<HeldTurn> {
  const claimed = await eventually(`a turn of ${session} is to be taken`, async () => {
    const { turns } = await post<{ turns: Claimed[] }>(place, '/internal/turns/claim', {
      worker: 'scripted',
      limit: 10,
      waitMs: 500,
    });
    await Promise.all(
      turns
        .filter((other) => other.session !== session)
        .map((other) => post(place, `${rootOf(other)}/release`, { attempt: other.attempt })),
    );
    return turns.find((one) => one.session === session);
  });
  return heldTurn(place, claimed);
}

function heldTurn(place: Place, claimed: Claimed): HeldTurn {
  const { session, turn, attempt, inputs, decisions } = claimed;
  const root = rootOf(claimed);
  const message = `answer-${turn}-${attempt}`;
  return {
    turn,
    attempt,
    try: claimed.try,
    inputs: inputs.map(({ data }) => data.content),
    decisions,
    async say(text) {
      await post(place, `/internal/sessions/${session}/events`, {
        fence: { turn, attempt },
        events: [{ type: 'text.delta', data: { message, text } }],
      });
    },
    async ask(approval, question) {
      await post(place, `${root}/wait`, { attempt, approvals: [{ approval, ...question }] });
    },
    async model(index, calls) {
      await post(place, `${root}/steps/${index}/model`, { attempt, request: {}, result: {}, calls });
    },
    start: (index, intent) => post(place, `${root}/steps/${index}/start`, { attempt, ...intent }),
    async settle(index, intent, outcome) {
      await post(place, `${root}/steps/${index}/settle`, { attempt, ...intent, ...outcome });
    },
    async finish(outcome = 'completed') {
      await post(place, `${root}/finish`, { attempt, outcome, events: [] });
    },
    async release() {
      await post(place, `${root}/release`, { attempt });
    },
    async fail(error, retryable = false) {
      await post(place, `${root}/fail`, { attempt, error, retryable });
    },
    async stopAsked() {
      const { renewed } = await post<{ renewed: { stop: string | null }[] }>(place, '/internal/turns/renew', {
        attempts: [{ session, turn, attempt }],
      });
      return renewed[0]?.stop;
    },
  };
}

const rootOf = ({ session, turn }: Pick<Claimed, 'session' | 'turn'>): string =>
  `/internal/sessions/${session}/turns/${turn}`;

async function post<T>(place: Place, path: string, body: object): Promise<T> {
  const { status, text } = await call(place, 'POST', path, JSON.stringify(body));
  if (status >= 300) throw new Error(`${path} answered ${status}: ${text}`);
  return JSON.parse(text) as T;
}
