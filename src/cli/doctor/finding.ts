/** What a diagnosis finds: each finding has one name, which says how bad it is (pure). */

/** `skipped` is a check that could not be made; a finding says what it would need. */
export type Severity = 'ok' | 'hint' | 'fault' | 'skipped';

/** Every finding there is; docs/DOCTOR.md has the same. */
export const severities = {
  // the public address
  reachable: 'ok',
  unreachable: 'fault',
  redirected: 'fault',
  no_gateway: 'fault',
  not_ledgerline: 'fault',
  protocol_hidden: 'hint',
  protocol_differs: 'fault',
  ready: 'ok',
  database_away: 'fault',
  draining: 'fault',
  readiness_unseen: 'skipped',
  http2: 'ok',
  http1: 'hint',
  plain_http: 'hint',
  // the internal listener
  internal_hidden: 'ok',
  internal_exposed: 'fault',
  internal_reachable: 'ok',
  internal_unreachable: 'fault',
  internal_unknown: 'skipped',
  key_refused: 'fault',
  bus_away: 'fault',
  revocations_stale: 'fault',
  // who may, and when
  token_accepted: 'ok',
  token_missing: 'skipped',
  token_malformed: 'fault',
  token_expired: 'fault',
  token_refused: 'fault',
  scope_missing: 'fault',
  clock_agrees: 'ok',
  clock_off: 'fault',
  proxy_clock_off: 'hint',
  // the stream
  session_missing: 'skipped',
  session_refused: 'fault',
  two_deployments: 'fault',
  session_left: 'hint',
  stream_headers: 'ok',
  stream_refused: 'fault',
  content_type_changed: 'fault',
  cache_control_changed: 'hint',
  stream_compressed: 'fault',
  stream_cut: 'fault',
  events_one_by_one: 'ok',
  first_frames_only: 'skipped',
  headers_held_back: 'fault',
  events_held_back: 'fault',
  events_late: 'hint',
  append_refused: 'fault',
  resumes: 'ok',
  last_event_id_lost: 'fault',
  after_lost: 'fault',
  resume_unseen: 'skipped',
  stays_open: 'ok',
  cut_while_idle: 'fault',
  sync_missing: 'fault',
  server_left: 'hint',
  watch_left_out: 'skipped',
  held_back_first: 'skipped',
  // browsers
  ticket_opens: 'ok',
  ticket_refused: 'fault',
  ticket_lost: 'fault',
  pass_arrives: 'ok',
  pass_lost: 'fault',
  pass_unusable: 'fault',
  pass_insecure: 'hint',
  pass_elsewhere: 'hint',
  cookies_arrive: 'ok',
  cookies_lost: 'fault',
  origin_allowed: 'ok',
  origin_refused: 'fault',
  origin_doubled: 'fault',
  // producers
  lines_stream: 'ok',
  lines_held_back: 'hint',
  lines_refused: 'fault',
} as const satisfies Record<string, Severity>;

export type FindingName = keyof typeof severities;

export interface Finding {
  readonly name: FindingName;
  readonly severity: Severity;
  /** One line: what was seen. It holds no secret. */
  readonly seen: string;
  /** One line: what to do about it. */
  readonly todo: string | undefined;
}

export const finding = (name: FindingName, seen: string, todo?: string): Finding => ({
  name,
  severity: severities[name],
  seen,
  todo,
});

/** A duration for people. */
export function inWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  return ms < 120_000 ? `${(ms / 1_000).toFixed(1)} s` : `${(ms / 60_000).toFixed(1)} min`;
}
