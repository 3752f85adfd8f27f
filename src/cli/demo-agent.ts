/** The agent of the development server: plays its part of the demo's story, and answers people by a script or a model. */
import { defineAgent } from '../worker/define-agent.ts';
import type { Agent } from '../worker/define-agent.ts';
import type { ModelConfig } from './demo-agent-config.ts';
import { askModel } from './demo-agent-model.ts';
import { followScript } from './demo-agent-script.ts';
import { atItsPace } from './demo-agent-speech.ts';
import type { Pause } from './demo-agent-speech.ts';
import { playStory } from './demo-agent-story.ts';
import { TOOL_MS, demoTools } from './demo-agent-tools.ts';
import { converse } from './demo-agent-turn.ts';
import type { Ask } from './demo-agent-ask.ts';
import { exchangeOf } from './demo-cast.ts';

/** The story costs no tokens: a model, if there is one, is asked for people alone. */
export function demoAgent(model: ModelConfig | undefined, pause: Pause = atItsPace): Agent {
  const answerPeople = model === undefined ? followScript(pause) : askModel(model);

  /** A person who writes comes before the story, which then is over. */
  const ask: Ask = (asked) => {
    const people = asked.inputs.filter((input) => exchangeOf(input) === undefined);
    const [exchange] = asked.inputs.flatMap((input) => exchangeOf(input) ?? []);
    if (exchange === undefined || people.length > 0) return answerPeople({ ...asked, inputs: people });
    return playStory(exchange, pause)(asked);
  };

  return defineAgent({
    name: 'demo-agent',
    tools: demoTools(pause),
    run: (turn) => converse(turn, ask, () => pause(TOOL_MS, turn.signal)),
  });
}
