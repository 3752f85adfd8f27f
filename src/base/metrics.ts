/** What an operator can count. Labels are closed sets: never a session, a token or an id. */
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { Tally } from './tally.ts';

const seconds = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10];
const powers = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];

/** One set for each gateway, so that two in one process (tests) do not add up. */
export function createMetrics() {
  const registry = new Registry();
  const registers = [registry];
  return {
    registry,
    appends: new Tally({
      name: 'ledgerline_appends_total',
      help: 'Appends by outcome',
      labelNames: ['outcome'],
      registers,
    }),
    appendedEvents: new Counter({ name: 'ledgerline_appended_events_total', help: 'Events stored', registers }),
    appendedBytes: new Counter({
      name: 'ledgerline_appended_bytes_total',
      help: 'Bytes of their payloads',
      registers,
    }),
    lineStreams: new Gauge({
      name: 'ledgerline_append_streams',
      help: 'Open requests that append line by line',
      registers,
    }),
    lines: new Counter({
      name: 'ledgerline_append_lines_total',
      help: 'Lines of such requests that were stored',
      registers,
    }),
    lineBytes: new Counter({
      name: 'ledgerline_append_line_bytes_total',
      help: 'Bytes of their payloads',
      registers,
    }),
    groupAppends: new Histogram({
      name: 'ledgerline_commit_group_appends',
      help: 'Appends that shared one commit',
      buckets: powers,
      registers,
    }),
    appendSeconds: new Histogram({
      name: 'ledgerline_append_seconds',
      help: 'From an append to its commit',
      buckets: seconds,
      registers,
    }),
    rooms: new Gauge({ name: 'ledgerline_rooms', help: 'Open rooms', registers }),
    subscribers: new Gauge({ name: 'ledgerline_subscribers', help: 'Open streams', registers }),
    framesBytes: new Counter({ name: 'ledgerline_stream_bytes_total', help: 'Bytes handed to sockets', registers }),
    streamLagSeconds: new Histogram({
      name: 'ledgerline_stream_lag_seconds',
      help: 'From the stamp of a broadcast event, just before its commit, until every subscriber of its room was given it',
      buckets: seconds,
      registers,
    }),
    streamStalls: new Counter({
      name: 'ledgerline_stream_stalls_total',
      help: 'Times that a reader took less than there was, and its stream waited for the socket',
      registers,
    }),
    clockOffsetSeconds: new Gauge({
      name: 'ledgerline_database_clock_offset_seconds',
      help: 'By how much the clock of Postgres is ahead of this process',
      registers,
    }),
    repairs: new Counter({
      name: 'ledgerline_repairs_total',
      help: 'Gaps that a room repaired, by what revealed them',
      labelNames: ['cause'],
      registers,
    }),
    pages: new Counter({
      name: 'ledgerline_pages_total',
      help: 'Pages of history asked for: read from Postgres, or shared with another reader',
      labelNames: ['source'],
      registers,
    }),
    headChecks: new Counter({
      name: 'ledgerline_head_reads_total',
      help: 'Queries for the heads of open rooms',
      registers,
    }),
    broadcasts: new Tally({
      name: 'ledgerline_broadcasts_total',
      help: 'Broadcasts after a commit, by how they went',
      labelNames: ['kind'],
      registers,
    }),
    streamEnds: new Counter({
      name: 'ledgerline_stream_ends_total',
      help: 'Streams that ended, by reason',
      labelNames: ['reason'],
      registers,
    }),
    browserFaults: new Counter({
      name: 'ledgerline_browser_faults_total',
      help: 'Faults that were answered 200 with a retry, so that a browser comes back',
      labelNames: ['code'],
      registers,
    }),
    turnsReady: new Gauge({ name: 'ledgerline_turns_ready', help: 'Sessions with work to claim', registers }),
    oldestReadySeconds: new Gauge({
      name: 'ledgerline_turns_oldest_ready_seconds',
      help: 'How long the oldest of them has waited',
      registers,
    }),
    turnsRunning: new Gauge({ name: 'ledgerline_turns_running', help: 'Turns that a worker runs', registers }),
    turnsWaiting: new Gauge({
      name: 'ledgerline_turns_waiting',
      help: 'Turns that wait for a person to decide',
      registers,
    }),
    turnsInDoubt: new Gauge({
      name: 'ledgerline_turns_in_doubt',
      help: 'Turns that a person must resolve',
      registers,
    }),
    turnsFailed: new Gauge({
      name: 'ledgerline_turns_failed',
      help: 'Failed turns that nobody has acknowledged',
      registers,
    }),
    claimSeconds: new Histogram({
      name: 'ledgerline_claim_seconds',
      help: 'From ready to claimed, the debounce included',
      buckets: seconds,
      registers,
    }),
    turnEnds: new Counter({
      name: 'ledgerline_turn_ends_total',
      help: 'Turns that ended, by how',
      labelNames: ['status'],
      registers,
    }),
    fencedWrites: new Counter({
      name: 'ledgerline_fenced_writes_total',
      help: 'Writes of attempts that owned their turn no more, all refused',
      registers,
    }),
    journalHits: new Counter({
      name: 'ledgerline_journal_hits_total',
      help: 'Calls whose outcome an earlier attempt had journaled, so that they were not made again',
      registers,
    }),
    takeovers: new Counter({
      name: 'ledgerline_takeovers_total',
      help: 'Attempts that were ended without their worker, by reason',
      labelNames: ['reason'],
      registers,
    }),
    revocations: new Gauge({
      name: 'ledgerline_revocations',
      help: 'Revocations in force, as this gateway knows them',
      registers,
    }),
    revocationsStaleSeconds: new Gauge({
      name: 'ledgerline_revocations_stale_seconds',
      help: 'For how long revocations could not be read; 0 while they can be',
      registers,
    }),
    rateLimited: new Counter({
      name: 'ledgerline_rate_limited_total',
      help: 'Requests that were refused because their token or session asked too much, by limit',
      labelNames: ['limit'],
      registers,
    }),
    refusals: new Counter({
      name: 'ledgerline_refusals_total',
      help: 'Problems that callers were told, by code',
      labelNames: ['code'],
      registers,
    }),
    requests: new Tally({
      name: 'ledgerline_requests_total',
      help: 'Requests by route and status',
      labelNames: ['route', 'status'],
      registers,
    }),
    busAway: new Gauge({ name: 'ledgerline_bus_away', help: '1 while the bus is not connected', registers }),
  };
}

export type Metrics = ReturnType<typeof createMetrics>;

/** Adds the process's own figures (event loop, memory, garbage collection). */
export function watchProcess(metrics: Metrics): void {
  collectDefaultMetrics({ register: metrics.registry, prefix: 'ledgerline_' });
}
