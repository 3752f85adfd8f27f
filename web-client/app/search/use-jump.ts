/** Going to a sequence: reads back to it, and says where to scroll. */
import { useCallback, useEffect, useState } from 'react';
import type { SessionView } from '../../src/session-view.ts';
import { toFollowError } from '../base/use-poll.ts';

/** `nonce` makes a second jump to the same place another one. */
export interface Target {
  readonly sequence: number;
  readonly nonce: number;
}

export interface Jump {
  /** Reached: scroll there. */
  readonly target: Target | undefined;
  readonly progress: { readonly sequence: number; readonly loaded: number; readonly wanted: number } | undefined;
  /** Why it went elsewhere or nowhere. */
  readonly problem: string | undefined;
  readonly to: (sequence: number) => void;
  readonly cancel: () => void;
}

export function useJump(view: SessionView): Jump {
  const [target, setTarget] = useState<Target>();
  const [running, setRunning] = useState<AbortController>();
  const [progress, setProgress] = useState<Jump['progress']>();
  const [problem, setProblem] = useState<string>();

  const to = useCallback(
    (sequence: number) => {
      const { head, floor, events } = view.getSnapshot();
      const reachable = Math.min(Math.max(sequence, floor + 1), Math.max(head, 1));
      setProblem(toProblem(sequence, floor, head));
      setRunning((before) => {
        before?.abort();
        return undefined;
      });
      setProgress(undefined);
      const arrive = (): void => setTarget((before) => ({ sequence: reachable, nonce: (before?.nonce ?? 0) + 1 }));
      if ((events[0]?.sequence ?? Infinity) <= reachable) {
        arrive();
        return;
      }
      const controller = new AbortController();
      const { signal } = controller;
      setRunning(controller);
      setProgress({ sequence: reachable, loaded: 0, wanted: 0 });
      const onProgress = (loaded: number, wanted: number): void => {
        if (!signal.aborted) setProgress({ sequence: reachable, loaded, wanted });
      };
      view
        .loadBackTo(reachable, { signal, onProgress })
        .then(
          () => {
            if (!signal.aborted) arrive();
          },
          (thrown: unknown) => {
            const error = toFollowError(thrown);
            if (error.code !== 'aborted') setProblem(`Older events cannot be read: ${error.message}`);
          },
        )
        .finally(() => {
          if (!signal.aborted) setProgress(undefined);
        });
    },
    [view],
  );

  const cancel = useCallback(() => {
    running?.abort();
    setProgress(undefined);
  }, [running]);
  useEffect(() => () => running?.abort(), [running]);

  return { target, progress, problem, to, cancel };
}

function toProblem(sequence: number, floor: number, head: number): string | undefined {
  if (sequence <= floor) return `Retention removed everything up to ${floor}.`;
  return sequence > head ? `The head is ${head}: there is no ${sequence} yet.` : undefined;
}
