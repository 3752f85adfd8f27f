/** One call of the demo's agent: money waits for a person, the tool runs through the journal, and the page is told of both. */
import { questionOf } from '../example/refund-tools.ts';
import type { ModelCall } from '../turn/steps.ts';
import type { CallOutcome, ModelStep } from '../worker/agent-steps.ts';
import type { AgentDecision, AgentTurn } from '../worker/agent-turn.ts';
import type { Kept } from './demo-agent-ask.ts';
import { approvalOf } from './demo-cast.ts';

export interface DemoCall {
  readonly call: ModelCall;
  /** Its index in the journal. */
  readonly step: number;
  /** By an attempt that stands. */
  readonly isTold: boolean;
  /** A moment in which the refund can be seen to be under way, before its transaction. */
  readonly beforeRefund: () => Promise<void>;
}

export async function carryOut(
  turn: AgentTurn,
  answer: ModelStep<Kept>,
  { call: asked, step, isTold, beforeRefund }: DemoCall,
): Promise<CallOutcome> {
  const { call, tool, args } = asked;
  const reason = tool === 'issue_refund' ? questionOf(args) : undefined;
  if (reason !== undefined) {
    const approval = approvalOf(turn.turn, step, answer.result.isStory);
    const decision = await turn.approve(approval, { tool, args, reason, call });
    if (decision.decision === 'denied') return denied(asked, decision);
  }
  if (!isTold) await turn.append('tool.call', { call, tool, args, step });
  if (reason !== undefined) await beforeRefund();
  const outcome = await turn.call(answer, asked);
  const came = outcome.state === 'done' ? { result: outcome.result } : { error: outcome.error };
  if (!isTold) await turn.append('tool.result', { call, step, ...came });
  return outcome;
}

/** The tool is not run, and the model hears why. */
function denied(call: ModelCall, { by, comment }: AgentDecision): CallOutcome {
  const message = `${by} did not approve it${comment === undefined ? '.' : `: “${comment}”.`}`;
  return { call, state: 'failed', error: { code: 'denied', message } };
}
