/** Steps as JSON: what is absent is null, and what a model or a tool said is its stored text itself, never printed anew [I2]. */
import type { z } from 'zod';
import type { JournaledStep, StepError, StepSettled, StepStart } from '../step/step.ts';
import type { settledStepShape } from './step-answer.ts';

const errorText = ({ code, message }: StepError): string => JSON.stringify({ code, message });

export function stepText(step: JournaledStep): string {
  const { index, kind, state, tool = null, effect = null, reserved, requestHash } = step;
  const facts = JSON.stringify({ index, kind, state, tool, effect, reserved, requestHash });
  const times = JSON.stringify({ attempt: step.fence, startedAt: step.startedAt, endedAt: step.endedAt ?? null });
  const error = step.error === undefined ? 'null' : errorText(step.error);
  const said = `"request":${step.request ?? 'null'},"result":${step.result ?? 'null'},"error":${error}`;
  return `${facts.slice(0, -1)},${said},${times.slice(1)}`;
}

/** What a worker is to do about a call. */
export function startText(start: StepStart): string {
  switch (start.kind) {
    case 'run':
      return JSON.stringify({ do: 'run', key: start.key, again: start.isAgain });
    case 'find':
      return JSON.stringify({ do: 'find', key: start.key });
    case 'in_progress':
      return '{"do":"wait"}';
    case 'done':
      return `{"do":"use","result":${start.result}}`;
    case 'failed':
      return `{"do":"use","error":${errorText(start.error)}}`;
    case 'in_doubt':
      return '{"do":"stop"}';
  }
}

export const stepSettled = ({ state, sequence }: StepSettled): z.infer<typeof settledStepShape> => ({
  state,
  sequence: sequence ?? null,
});
