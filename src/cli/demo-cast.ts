/** Who meets in the demo's session, and how its agent knows which messages and questions are the story's (pure). */
import type { AgentInput } from '../worker/agent-turn.ts';
import { demoScript } from './demo-script.ts';
import type { Exchange } from './demo-script.ts';

export const DEMO_SESSION = 'demo';

/** The subjects of their tokens. */
export const VISITOR = 'visitor';
export const COLLEAGUE = 'maya@support';

/** Of the story's messages, from 1. A performance is 1 to 32 letters and digits, so that each is a conversation of its own. */
export const messageKey = (performance: string, position: number): string => `demo-${performance}-${position}`;

/** Anybody may choose such a key; only the visitor's token makes it the story's. */
export function exchangeOf({ key, by }: Pick<AgentInput, 'key' | 'by'>): Exchange | undefined {
  const position = by === VISITOR ? /^demo-[a-z0-9]{1,32}-([1-9][0-9]?)$/.exec(key)?.[1] : undefined;
  return position === undefined ? undefined : demoScript[Number(position) - 1];
}

/** What a person is asked about a step. */
export const approvalOf = (turn: string, step: number, isStory = false): string =>
  `${turn}:${step}${isStory ? ':story' : ''}`;

/** The step that a question is about. */
export const stepOf = (approval: string): number => Number(/:(\d+)(?::story)?$/.exec(approval)?.[1] ?? -1);

/** Each of the story's answers has one call: the indices go in pairs. */
const STORY_STEP = 2 * questionPlace() + 1;

/** The one question of the story in a turn. */
export const storyApproval = (turn: string): string => approvalOf(turn, STORY_STEP, true);

function questionPlace(): number {
  const asking =
    demoScript.map(({ beats }) => beats).find((beats) => beats.some(({ kind }) => kind === 'approval')) ?? [];
  return asking
    .filter(({ kind }) => kind === 'tool' || kind === 'approval')
    .findIndex(({ kind }) => kind === 'approval');
}
