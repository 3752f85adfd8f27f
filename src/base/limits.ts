/** Every bound of the server in one place, unit in the name, with the relations between them asserted at load. */
import { assert } from './assert.ts';

const KiB = 1024;
const MiB = 1024 * KiB;

export const limits = {
  // what may be appended
  eventsPerAppend: 1_000,
  /** One event's payload, as UTF-8. */
  payloadBytes: 1 * MiB,
  appendBodyBytes: 8 * MiB,
  /** Any other request's body. */
  bodyBytes: 64 * KiB,
  /** Bodies that are being read at the same time, on each listener. */
  heldBodiesBytes: 256 * MiB,
  metadataBytes: 16 * KiB,
  /** Objects and arrays inside one another in a payload. */
  jsonDepth: 256,
  sessionIdLength: 128,
  eventTypeLength: 64,
  topicLength: 128,
  producerIdLength: 128,

  // the commit group
  lanes: 2,
  /** Appends that wait for a flush, per lane; one more is answered `unavailable`. */
  laneQueueAppends: 20_000,
  /** Bytes of the payloads that wait for a flush, per lane. */
  laneQueueBytes: 128 * MiB,
  /** Appends, events and payload bytes of one flush. */
  groupAppends: 512,
  groupEvents: 4_000,
  groupBytes: 16 * MiB,
  /** Fewer than these let another lane's flush land first, for so long at most. */
  smallGroupAppends: 64,
  smallGroupWaitMs: 5,
  /** How often an append whose head was held by somebody else rides along before it goes alone. */
  skippedFlushes: 10,
  /** How long a lone append then waits for the head before `session_busy`. */
  headLockWaitMs: 10_000,
  /** Sessions that wait alone for their heads at the same time. */
  soloConnections: 4,
  /** One flush against a silent database; after it the outcome is asked for on a new connection. */
  flushDeadlineMs: 15_000,
  /** How far a fenced append extends its turn's lease. */
  leaseMs: 30_000,

  // turns
  /** A message's content as JSON: the event around it fits the body of its request. */
  contentBytes: 48 * KiB,
  requestKeyLength: 128,
  /** Messages that a turn takes at once, and their bytes: what is beyond waits for the next one. */
  turnInputs: 1_000,
  turnInputBytes: 1 * MiB,
  /** Messages that follow one another so closely are the inputs of one turn, but the first waits no longer than the cap. */
  debounceMs: 150,
  debounceCapMs: 1_000,
  claimTurns: 50,
  claimWaitMs: 30_000,
  /** How often a waiting claim looks without being woken. */
  claimPollMs: 1_000,
  /** How soon it looks again for what is due and was held by somebody else. */
  claimAgainMs: 100,
  /** A session whose turn cannot begin, for what is wrong with its rows, is tried again after this long. */
  claimPutOffMs: 10_000,
  /** Turns completed in one transaction; `groupBytes` bounds what they say last. */
  completeTurns: 64,
  renewMs: 10_000,
  renewAttempts: 1_000,
  /** An attempt that could not renew for so long ends itself, before its lease does. */
  selfStopMs: 25_000,
  /** A stop that no worker has carried out is done without it. */
  forcedStopMs: 30_000,
  /** How often abandoned turns are looked for, up to so many at a time. */
  recoverMs: 5_000,
  recoverTurns: 100,
  turnDeadlineMs: 4 * 3_600_000,
  maxAttempts: 3,
  totalAttempts: 20,
  /** The pause before a turn is tried again, doubling up to the cap. */
  retryPauseMs: 1_000,
  retryPauseCapMs: 60_000,
  approvalsPerWait: 16,
  approvalIdLength: 128,
  commentBytes: 4 * KiB,
  turnErrorBytes: 4 * KiB,
  /** Messages, claims, and what operators ask. */
  turnConnections: 4,
  /** Settling: what a full pool above must never keep waiting. It may wait for heads itself. */
  settleConnections: 2,
  /** Renewing, and completing by the group: they wait for no head, and for nobody who does. */
  renewConnections: 1,
  sessionsPerList: 200,
  sessionsPerListDefault: 50,
  turnsPerList: 200,
  turnsPerListDefault: 50,
  clientRequestDays: 7,
  turnDays: 30,

  // steps
  /** Of one turn: whoever resumes it reads them all. What people decide or say meanwhile is taken beyond it, too. */
  stepsPerTurn: 10_000,
  /** A call with its arguments, and its result, each as JSON. */
  stepBytes: 512 * KiB,
  /** A model's answer, with the calls that it asks for. */
  modelAnswerBytes: 1 * MiB,
  /** Calls that one answer of a model may ask for. */
  callsPerAnswer: 128,
  /** How long a provider knows a key again, if the tool does not say: an hour less than those that forget after a day. */
  keySeconds: 82_800,
  /** A provider that knows keys for longer need not be told so. */
  keySecondsMost: 30 * 86_400,
  deliveriesPerStep: 16,
  /** Transactional tools, each of which has one for as long as its own statements take. */
  stepConnections: 8,
  /** One of them, from its first statement to its commit; of that, what the tool itself may take. */
  stepMs: 60_000,
  toolMs: 50_000,

  // Postgres
  replayConnections: 4,
  historyConnections: 2,
  controlConnections: 4,
  connectDeadlineMs: 5_000,
  queryDeadlineMs: 10_000,
  readinessDeadlineMs: 2_000,
  /** What is read at once while no message's length is known. */
  messageReadBytes: 8 * KiB,
  /** A message for which room is made before it is there. */
  messageBytes: 64 * MiB,
  /** How long a migration waits for a table: meanwhile whoever reads or appends waits behind it. */
  migrationLockMs: 2_000,

  // pages
  pageRows: 1_000,
  pageBytes: 1 * MiB,
  /** Pages kept for readers that follow close behind one another, per process. */
  pageCacheBytes: 16 * MiB,
  /** A page that could not be read is asked for again after this long, doubling up to the cap. */
  pageRetryMs: 100,
  pageRetryCapMs: 2_000,
  /** A reader that took no longer for its last page has the next one read before it asks, by at most so many reads at a time. */
  readAheadMs: 100,
  readAheadReads: 2,
  historyRows: 1_000,
  historyRowsDefault: 100,
  historyBytes: 4 * MiB,
  /** Rows erased in one transaction when a session is deleted. */
  eraseRows: 10_000,
  /** And of their payloads, so that a batch of large events ends in time, too. */
  eraseBytes: 64 * MiB,

  // rooms
  /** Tails of all rooms together. */
  tailBytes: 64 * MiB,
  tailSegmentBytes: 64 * KiB,
  /** A broadcast that is ahead waits this long for the ones before it, before the gap is repaired. */
  reorderMs: 5,
  /** Broadcasts held while a gap waits, per room; past it only their highest number is kept. */
  heldBroadcasts: 256,
  heldBytes: 4 * MiB,
  /** Live frames leave at once, or together with what came within this window of the last sweep. */
  coalesceMs: 5,
  /** Synchronous work before the loop gets a turn. */
  turnMs: 2,
  roomLingerMs: 5_000,
  headCheckMs: 1_000,
  headCheckAwayMs: 250,
  /** Between the beginnings of two reads of heads; longer, up to the cap, behind one that a herd has asked for. */
  headReadSpacingMs: 10,
  headReadSpacingCapMs: 250,
  busSubscribeDeadlineMs: 2_000,

  // subscribers
  /** A writer with this much unsent takes nothing more; one that is live stops at its socket's own mark of 16 or 64 KiB. */
  unsentBytes: 256 * KiB,
  /** A long page is handed to the socket in pieces of about this size, cut between frames. */
  pieceBytes: 64 * KiB,
  /** Unsent bytes that do not move for so long end the connection. */
  stallMs: 120_000,
  syncMs: 15_000,
  retryMs: 1_000,
  /** The retry of a stream that has nothing more to say: a closed session, to a client that ignores 204. */
  endedRetryMs: 3_600_000,
  /** The retry of a stream that could not be served now. */
  faultRetryMs: 2_000,

  // HTTP
  listenBacklog: 4_096,
  drainMs: 10_000,
  /** Between the end of our side of a connection and the end of the peer's. */
  lingerMs: 2_000,
  headerTimeoutMs: 30_000,
  /** A whole request, body included; answers may take as long as they like. */
  requestTimeoutMs: 120_000,
  headerBytes: 16 * KiB,
  /** Requests at a time on one HTTP/2 connection: a proxy's streams share a few. */
  http2Streams: 10_000,
  /** What one such connection holds for its readers; past it every new stream on it is refused. */
  http2ConnectionBytes: 5_000 * MiB,
  /** How long a stream's first look at the head may take, or at the session's owner, before it counts as a fault. */
  streamHeadDeadlineMs: 3_000,
  /** Readers of ended sessions that are remembered, in case they come back all the same. */
  endedReaders: 10_000,
  /** How far the clock of whoever minted a token may be off. */
  tokenToleranceMs: 5_000,
  keepAliveMs: 75_000,

  // the bus
  /** Published, and not yet taken in by the server; what would be more is let go. */
  busUnsentBytes: 32 * MiB,
  natsPingMs: 2_000,
  natsPingsOut: 2,
} as const;

assert(limits.payloadBytes < limits.appendBodyBytes, 'an append holds at least one of the largest events');
assert(limits.appendBodyBytes <= limits.heldBodiesBytes, 'the largest body is not refused for its size alone');
assert(limits.appendBodyBytes <= limits.groupBytes, 'a flush holds at least one of the largest appends');
assert(limits.eventsPerAppend <= limits.groupEvents, 'a flush holds at least one of the longest appends');
assert(limits.smallGroupAppends <= limits.groupAppends, 'a full flush is not small');
assert(limits.smallGroupWaitMs < limits.flushDeadlineMs, 'a flush waits for another for less than it may take itself');
assert(limits.payloadBytes <= limits.pageBytes, 'a page holds at least one of the largest events');
assert(limits.pieceBytes <= limits.unsentBytes, 'a writer that is empty takes a piece');
assert(limits.tailSegmentBytes * 4 <= limits.tailBytes, 'the tails hold more than a segment or two');
assert(limits.pageBytes * 4 <= limits.pageCacheBytes, 'the page cache holds more than a page or two');
assert(limits.readAheadReads < limits.replayConnections, 'who waits for a page finds a connection that no guess holds');
assert(limits.headReadSpacingCapMs <= limits.headCheckAwayMs, 'a herd does not hold up the check of the others');
assert(limits.headCheckAwayMs <= limits.headCheckMs, 'without a bus heads are checked more often');
assert(limits.syncMs * 2 < limits.stallMs, 'a stalled socket is seen by more than one sync');
assert(limits.lingerMs * 2 < limits.drainMs, 'a peer that is told to go has the time to read it');
assert(limits.headerTimeoutMs <= limits.requestTimeoutMs, 'the headers are part of the request');
assert(
  limits.http2Streams * limits.unsentBytes <= limits.http2ConnectionBytes,
  'slow readers do not shut others out of the connection that a proxy gave them',
);
assert(
  limits.contentBytes < limits.bodyBytes && limits.contentBytes < limits.payloadBytes,
  'a message fits its request and its event',
);
assert(limits.debounceMs <= limits.debounceCapMs, 'a lone message waits no longer than the cap');
assert(limits.renewMs * 2 < limits.selfStopMs, 'an attempt may miss a renewal or two');
assert(limits.selfStopMs < limits.leaseMs, 'an attempt ends itself before another begins');
assert(limits.maxAttempts <= limits.totalAttempts, 'tries without progress are tries');
assert(limits.stepBytes * 1.5 < limits.payloadBytes, 'a result fits the event that tells of it');
assert(limits.toolMs < limits.stepMs, 'a tool that is late is told so before its connection is given up');
