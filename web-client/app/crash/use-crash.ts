/** The newest run of the crash lab, asked for while the page is visible, and the way to begin another. */
import { useCallback, useState } from 'react';
import { toFollowError, usePoll } from '../base/use-poll.ts';
import { beginRun, readNewestRun } from './crash-client.ts';
import { isUnderWay } from './crash-run.ts';
import type { CrashPlan, CrashRun } from './crash-run.ts';

export interface UsedCrash {
  /** Undefined where there was none, or none is known yet. */
  readonly run: CrashRun | undefined;
  /** From the press of the button on. */
  readonly isBusy: boolean;
  readonly problem: string | undefined;
  readonly begin: (plan: CrashPlan) => void;
}

interface Question {
  readonly ask: (signal: AbortSignal) => Promise<CrashRun | null>;
  /** What is known until it is answered. */
  readonly begun: CrashRun | null;
}

const POLL_MS = 500;

/** Another function each time, so that what was known before is forgotten: it may be of the run before. */
const toQuestion = (begun: CrashRun | null): Question => ({ ask: (signal) => readNewestRun(signal), begun });

export function useCrash(): UsedCrash {
  const [{ ask, begun }, setQuestion] = useState(() => toQuestion(null));
  const [isBeginning, setIsBeginning] = useState(false);
  const [refusal, setRefusal] = useState<string>();
  const { value, error } = usePoll(ask, POLL_MS);
  const run = (value === undefined ? begun : value) ?? undefined;

  const begin = useCallback((plan: CrashPlan) => {
    setIsBeginning(true);
    setRefusal(undefined);
    beginRun(plan)
      .then(
        (answered) => setQuestion(toQuestion(answered)),
        (thrown: unknown) => setRefusal(toFollowError(thrown).message),
      )
      .finally(() => setIsBeginning(false));
  }, []);
  return { run, isBusy: isBeginning || isUnderWay(run), problem: refusal ?? error?.message, begin };
}
