/** The tools of the demo's agent: those of the worked example, at a pace at which they can be seen, and the story's made-up ones. */
import { z } from 'zod';
import { issueRefund, lookupOrder, lookupShape } from '../example/refund-tools.ts';
import type { OutsideCall, Tool, Tools } from '../worker/tool.ts';
import type { Pause } from './demo-agent-speech.ts';
import { demoScript } from './demo-script.ts';
import type { Beat } from './demo-script.ts';

export const TOOL_MS = 900;

type MadeUp = Extract<Beat, { kind: 'tool' }>;

/** What is asked for at all, and in what order, is the script's. */
const anything = z.looseObject({});

export function demoTools(pause: Pause): Tools {
  const lookup: Tool<typeof lookupShape> = {
    effect: 'read',
    args: lookupShape,
    async run(args, call) {
      await pause(TOOL_MS, call.signal);
      return lookupOrder.run(args, call);
    },
  };
  const madeUp = Object.fromEntries(madeUpBeats().map((beat) => [beat.tool, pretend(beat, pause)]));
  return { ...madeUp, lookup_order: lookup, issue_refund: issueRefund };
}

/** Of `keyed` the provider would know the step's key again; this one has nothing to forget. */
function pretend({ effect, takesMs, result }: MadeUp, pause: Pause): Tool<typeof anything> {
  const run = async (_: object, { signal }: OutsideCall): Promise<object> => {
    await pause(takesMs, signal);
    return result;
  };
  return effect === 'read' ? { effect, args: anything, run } : { effect, args: anything, run };
}

function madeUpBeats(): MadeUp[] {
  const all = demoScript.flatMap(({ beats }) => beats);
  const behind = all.flatMap((beat) => (beat.kind === 'approval' ? [...beat.approved, ...beat.denied] : []));
  return [...all, ...behind].filter((beat) => beat.kind === 'tool');
}
