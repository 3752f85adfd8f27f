/** The demo's agent in the story: it says and asks for what the script has it say, beat by beat, as a model would. */
import { AgentError } from '../worker/agent-error.ts';
import type { AgentTurn } from '../worker/agent-turn.ts';
import { recite, speak, think } from './demo-agent-speech.ts';
import type { Pause } from './demo-agent-speech.ts';
import type { Ask, Round } from './demo-agent-ask.ts';
import type { Beat, Exchange } from './demo-script.ts';

/** Before each beat. */
const BREATH_MS = 800;
/** Long enough to see that nothing comes any more. */
const SILENCE_MS = 2_500;
/** What a try before did is done again so many times faster: nobody wants to read it twice. */
const HASTE = 5;

/** Between two beats and two sentences it listens; when somebody speaks, its part is over. */
export function playStory({ beats }: Exchange, pace: Pause): Ask {
  return async ({ turn, message, rounds, listen }) => {
    const pause: Pause = turn.tryNumber === 1 ? pace : (delayMs, signal) => pace(delayMs / HASTE, signal);
    let thought = '';
    let text = '';
    for (const beat of answerAt(beats, rounds)) {
      await pause(BREATH_MS, turn.signal);
      switch (beat.kind) {
        case 'thought':
          await think(turn, `${message}:thought`, beat.text, pause);
          thought = beat.text;
          break;
        case 'fragment':
          if (turn.tryNumber === 1) return breakOff(turn, message, beat.text, pace);
          break;
        case 'answer':
          text = await speak(turn, message, beat.text, { pause: pace, listen });
          if (text !== beat.text) return { result: { thought, text, isStory: true } };
          break;
        case 'tool':
        case 'approval': {
          if (await listen()) return { result: { thought, text, isStory: true } };
          const { tool, args } = beat;
          return { result: { thought, text, isStory: true }, calls: [{ call: `${message}:${tool}`, tool, args }] };
        }
      }
    }
    return { result: { thought, text, isStory: true } };
  };
}

/** The beats of the next answer. Each ends with its call; which ones follow the refund depends on what came of that. */
function answerAt(beats: readonly Beat[], rounds: readonly Round[]): readonly Beat[] {
  const refund = rounds.flatMap(({ outcomes }) => outcomes).find(({ call }) => call.tool === 'issue_refund');
  const way = refund?.state === 'done' ? 'approved' : 'denied';
  const answers: Beat[][] = [[]];
  for (const beat of beats.flatMap((one) => (one.kind === 'approval' ? [one, ...one[way]] : [one]))) {
    answers.at(-1)?.push(beat);
    if (beat.kind === 'tool' || beat.kind === 'approval') answers.push([]);
  }
  return answers[rounds.length] ?? [];
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
