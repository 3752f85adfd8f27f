/** What the demo's agent is asked for, answer by answer, whether a script, the story or a model gives it. */
import type { CallOutcome, ModelSaid } from '../worker/agent-steps.ts';
import type { AgentInput, AgentTurn } from '../worker/agent-turn.ts';

/** What the agent says with an answer. */
export interface Said {
  readonly thought?: string;
  readonly text: string;
  /** The newest message that it answers: if left out, of those that there were when it was asked for. */
  readonly heard?: number;
  readonly isStory?: true;
}

/** As the journal has it. */
export interface Kept extends Said {
  readonly heard: number;
  /** Somebody spoke into it: another answer follows. */
  readonly isCut: boolean;
}

export interface Round {
  readonly said: Kept;
  readonly outcomes: readonly CallOutcome[];
}

export interface Asked {
  readonly turn: AgentTurn;
  /** The id of what is said now. */
  readonly message: string;
  readonly inputs: readonly AgentInput[];
  /** The turn's answers before this one, and what came of their calls. */
  readonly rounds: readonly Round[];
  /** Takes into the turn what was said meanwhile; true if there was something. */
  readonly listen: () => Promise<boolean>;
}

/** Says what comes next, or asks for tools, or both: an answer that the journal does not have yet. */
export type Ask = (asked: Asked) => Promise<ModelSaid<Said>>;
