/** What an agent asks a person, checked before it is taken: a question that cannot be stored would end the whole wait (pure). */
import { LedgerlineError } from '../base/errors.ts';
import { limits } from '../base/limits.ts';
import { approvalIdShape } from '../event/turn-id.ts';
import { eventText, payloadOf } from '../producer/event-text.ts';
import type { Question } from '../turn/turns.ts';
import type { ApprovalRequest } from './agent-turn.ts';

/** Of the members that the wait adds to a question's event: the turn, the attempt and the approval, with their names. */
const AROUND_BYTES = 512;

/** Throws `malformed` or `too_large`. */
export function questionOf(approval: string, request: ApprovalRequest): Question {
  const { success, error } = approvalIdShape.safeParse(approval);
  if (!success) {
    throw new LedgerlineError('malformed', error.issues[0]?.message ?? 'not the id of an approval', {
      where: 'approval',
    });
  }
  const data = { ...request };
  const text = eventText('approval.required', payloadOf(data));
  if (Buffer.byteLength(text) + AROUND_BYTES > limits.payloadBytes) {
    const max = limits.payloadBytes;
    throw new LedgerlineError('too_large', `a question holds at most ${max} bytes`, { limit: 'payloadBytes', max });
  }
  return { approval, data };
}

/** Asked twice at the same time it is one question, and so many fit one wait. */
export function addQuestion(questions: Question[], question: Question): void {
  if (questions.some(({ approval }) => approval === question.approval)) return;
  if (questions.length >= limits.approvalsPerWait) {
    throw new LedgerlineError('malformed', `at most ${limits.approvalsPerWait} questions are asked at the same time`);
  }
  questions.push(question);
}
