/** What the page's shortcuts reach into. */
import { useMemo, useRef } from 'react';
import type { RefObject } from 'react';

export interface SessionKeys {
  readonly search: RefObject<HTMLInputElement | null>;
  readonly jump: RefObject<HTMLInputElement | null>;
  /** Goes to the end. */
  readonly latest: { current: (() => void) | undefined };
  readonly composer: RefObject<HTMLTextAreaElement | null>;
  readonly stop: RefObject<HTMLButtonElement | null>;
}

export function useSessionKeys(): SessionKeys {
  const search = useRef<HTMLInputElement>(null);
  const jump = useRef<HTMLInputElement>(null);
  const latest = useRef<() => void>(undefined);
  const composer = useRef<HTMLTextAreaElement>(null);
  const stop = useRef<HTMLButtonElement>(null);
  return useMemo(() => ({ search, jump, latest, composer, stop }), []);
}
