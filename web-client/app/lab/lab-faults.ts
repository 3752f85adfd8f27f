/** The trials of the lab: what each does, what will be seen, and when it makes no sense (pure). */

export type Trial = 'drop_next' | 'drop_last_of_burst' | 'sever' | 'stop_bus' | 'restart_gateway';

/** The lab as the development server describes it. */
export interface LabState {
  readonly isHeadCheckPaused: boolean;
  readonly isBusStopped: boolean;
  readonly dropsNext: boolean;
}

export interface Situation {
  /** Undefined: not asked yet, or out of reach. */
  readonly lab: LabState | undefined;
  readonly isLive: boolean;
  /** Over: it takes no more events. Absent: there is none, or none within reach. */
  readonly session: 'open' | 'over' | 'absent';
}

export const trials: readonly { readonly trial: Trial; readonly label: string; readonly effect: string }[] = [
  {
    trial: 'drop_next',
    label: 'Drop the next broadcast',
    effect: 'The event after it shows the gap.',
  },
  {
    trial: 'drop_last_of_burst',
    label: 'Drop the last of a burst',
    effect: 'Nothing follows: only the head check can find it.',
  },
  {
    trial: 'sever',
    label: 'Sever my connection',
    effect: 'It comes back and reads on from its cursor.',
  },
  {
    trial: 'stop_bus',
    label: 'Stop the bus for 5 s',
    effect: 'Every broadcast is lost; the head check delivers.',
  },
  {
    trial: 'restart_gateway',
    label: 'Restart the gateway',
    effect: 'It drains; its readers come back in their slots.',
  },
];

/** Why not now, in words; undefined when it can be tried. */
export function refusalOf(trial: Trial, { lab, isLive, session }: Situation): string | undefined {
  if (trial === 'sever') return isLive ? undefined : 'There is no live connection to sever.';
  if (lab === undefined) return 'The gateway does not answer just now.';
  if (trial === 'restart_gateway') return undefined;
  if (session === 'absent') return 'There is no session to try it on.';
  if (session === 'over') return 'The session is over: nothing more is broadcast.';
  if (lab.isBusStopped) return 'The bus is stopped: all is lost already.';
  if (trial === 'drop_next' && lab.dropsNext) return 'Armed: the next event is the one.';
  return undefined;
}

export const headCheck = {
  label: 'Head check',
  on: 'Compares rooms with Postgres each second.',
  paused: 'A lost last event waits for the next one.',
} as const;
