/** What the demo's agent does about a message of the story: beat by beat, through the same door as every agent. */
import { AgentError } from '../worker/agent-error.ts';
import type { AgentInput, AgentTurn, FinalEvent } from '../worker/agent-turn.ts';
import { recite, runTool, speak, think } from './demo-agent-speech.ts';
import type { Pause } from './demo-agent-speech.ts';
import { approvalOf } from './demo-cast.ts';
import type { Beat, Exchange } from './demo-script.ts';

/** Before each beat. */
const BREATH_MS = 600;
/** Long enough to see that nothing comes any more. */
const SILENCE_MS = 2_500;
/** What a try before did is done again so many times faster: nobody wants to read it twice. */
const HASTE = 5;

export interface Played {
  readonly final: readonly FinalEvent[];
  /** What somebody threw in; the rest of the story was not played. */
  readonly joined: readonly AgentInput[];
}

export async function playStory(turn: AgentTurn, { beats }: Exchange, pace: Pause): Promise<Played> {
  const approval = approvalOf(turn.turn);
  const pause: Pause = turn.tryNumber === 1 ? pace : (delayMs, signal) => pace(delayMs / HASTE, signal);
  let count = 0;
  const id = (what: string): string => `${turn.turn}:${turn.attempt}:${what}-${(count += 1)}`;

  async function play(part: readonly Beat[]): Promise<Played> {
    for (const beat of part) {
      await pause(BREATH_MS, turn.signal);
      switch (beat.kind) {
        case 'thought':
          await think(turn, id('thought'), beat.text, pause);
          break;
        case 'tool':
          await runTool(turn, id('call'), beat, pause);
          break;
        case 'fragment':
          if (turn.tryNumber === 1) return breakOff(turn, id('answer'), beat.text, pace);
          break;
        case 'approval': {
          const { tool, args, reason } = beat;
          const { decision } = await turn.approve(approval, { tool, args, reason });
          return play(beat[decision]);
        }
        case 'answer': {
          const message = id('answer');
          const said = await speak(turn, message, beat.text, pace);
          const data = { message, role: 'assistant', content: said.text.trimEnd() };
          const completed = { type: 'message.completed', data };
          if (said.joined.length === 0 && beat === part.at(-1)) return { final: [completed], joined: [] };
          await turn.append(completed.type, completed.data);
          if (said.joined.length > 0) return { final: [], joined: said.joined };
        }
      }
      const joined = await turn.steering();
      if (joined.length > 0) return { final: [], joined };
    }
    return { final: [], joined: [] };
  }

  // What stands before a decision was done by the attempt that asked.
  const asking = beats.findIndex(({ kind }) => kind === 'approval');
  return play(turn.decisions.has(approval) ? beats.slice(asking) : beats);
}

async function breakOff(turn: AgentTurn, message: string, text: string, pause: Pause): Promise<never> {
  await recite(turn, message, text, pause);
  await turn.flush();
  await pause(SILENCE_MS, turn.signal);
  throw new AgentError(
    'model_cut',
    'The answer broke off, as the demo’s story wants it once; the next try begins anew.',
  );
}
