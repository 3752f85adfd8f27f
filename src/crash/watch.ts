/** Watches the processes of a run, one after another: counts, notes and approves, until one has died or has nothing left to do. */
import { crashLimits } from '../base/crash-limits.ts';
import { sleep } from '../base/clock.ts';
import type { Clock } from '../base/clock.ts';
import { LedgerlineError } from '../base/errors.ts';
import { detach } from '../base/service.ts';
import type { Books, CrashNote, CrashPlan, CrashRun } from '../lab/crash-lab.ts';
import type { Fact } from './fact.ts';
import { deathNote, eventNote, factNote, startNote } from './notes.ts';
import type { Stage, StageEvent } from './stage.ts';
import { startVictim } from './victim-process.ts';
import type { VictimProcess, VictimProcessOptions } from './victim-process.ts';

export interface WatchOptions extends Pick<VictimProcessOptions, 'program' | 'folder' | 'databasePrepare' | 'log'> {
  readonly clock: Clock;
  /** What is new of the run. */
  readonly show: (news: Partial<CrashRun>) => void;
  /** Ends the run, and whatever process it has. */
  readonly signal: AbortSignal;
}

export interface Watch {
  /** Until it has died at the plan's point, or nothing is left to do: then it is killed. Resolves with whether it died. */
  process(plan: CrashPlan): Promise<boolean>;
  books(): Promise<Books>;
}

/** A fact, and when it was heard. */
interface Heard {
  readonly fact: Fact;
  readonly at: string;
}

/** What signal 9 makes of an exit code. */
const KILLED = 128 + 9;

export function createWatch(options: WatchOptions, stage: Stage): Watch {
  const { program, folder, databasePrepare, log, clock, show, signal } = options;
  const notes: CrashNote[] = [];
  const published = new Set<number>();
  let modelCalls = 0;
  let turn: string | undefined;
  let owner: number | undefined;

  const now = (): string => new Date(clock.wall()).toISOString();

  function note(at: string, text: string | undefined): void {
    if (text === undefined) return;
    notes.push({ at, text });
    show({ notes: [...notes] });
  }

  async function books(): Promise<Books> {
    return { ...(await stage.books(turn)), modelCalls };
  }

  async function hear(event: StageEvent, pid: number): Promise<void> {
    note(event.at, eventNote(event, { pid, owner }));
    if (event.type === 'turn.started') {
      turn = String(event.data['turn']);
      owner = pid;
    }
    if (event.type === 'approval.required') await stage.approve(String(event.data['approval']));
  }

  function learn({ fact, at }: Heard, pid: number): void {
    note(at, factNote(fact, { pid, modelCalls, published }));
    if (fact.fact === 'model_asked') modelCalls += 1;
    if (fact.fact === 'published') published.add(fact.number);
  }

  /** What is new, in the order of time. */
  async function look(pid: number, heard: readonly Heard[]): Promise<void> {
    const events = await stage.events();
    const news = [
      ...heard.map((one) => ({ at: one.at, tell: () => Promise.resolve(learn(one, pid)) })),
      ...events.map((event) => ({ at: event.at, tell: () => hear(event, pid) })),
    ];
    for (const { tell } of news.toSorted((one, other) => Date.parse(one.at) - Date.parse(other.at))) await tell();
  }

  /** `facts` grows meanwhile. */
  async function follow(victim: VictimProcess, plan: CrashPlan, facts: readonly Heard[]): Promise<boolean> {
    const deadlineMs = clock.now() + crashLimits.processMs;
    for (let seen = 0; ;) {
      signal.throwIfAborted();
      // First whether it lives, then the books, then the rest: what is behind an end is seen before that is taken for one.
      const { isRunning } = victim;
      const found = await books();
      show({ after: found });
      const news = facts.slice(seen);
      seen += news.length;
      await look(victim.pid, news);
      if (!isRunning) {
        await requireDeath(victim, facts);
        note(now(), deathNote(victim.pid, plan));
        return true;
      }
      if (isAtRest(found, facts.slice(0, seen))) return false;
      if (clock.now() > deadlineMs) throw failed(`process ${victim.pid} does not get on`, victim);
      await sleep(crashLimits.lookMs, signal);
    }
  }

  note(now(), 'the customer asked for the refund');
  return {
    books,
    async process(plan) {
      signal.throwIfAborted();
      const facts: Heard[] = [];
      const onFact = (fact: Fact): void => void facts.push({ fact, at: now() });
      const { databaseUrl } = stage;
      const victim = await startVictim({ program, folder, plan, databaseUrl, databasePrepare, log, onFact });
      const kill = (): void => detach(victim.kill(), log, 'a process of the crash lab could not be killed');
      signal.addEventListener('abort', kill, { once: true });
      try {
        note(now(), startNote(victim.pid, plan.without));
        return await follow(victim, plan, facts);
      } finally {
        signal.removeEventListener('abort', kill);
        await victim.kill();
      }
    },
  };
}

/** The channel forgets with its process: whatever the outbox has, the one that lives has brought to the consumer itself. */
function isAtRest({ turn, outbox }: Books, facts: readonly Heard[]): boolean {
  const brought = new Set(facts.flatMap(({ fact }) => (fact.fact === 'acknowledged' ? [fact.number] : [])));
  const isDelivered = outbox.every(({ number, state }) => state === 'published' && brought.has(number));
  return !['queued', 'open', 'waiting'].includes(turn) && isDelivered;
}

async function requireDeath(victim: VictimProcess, facts: readonly Heard[]): Promise<void> {
  const code = await victim.ended;
  if (code === KILLED && facts.at(-1)?.fact.fact === 'dies') return;
  throw failed(`process ${victim.pid} ended by itself, with ${code}`, victim);
}

export function failed(what: string, victim?: VictimProcess): LedgerlineError {
  const lines = victim?.lastLines() ?? '';
  return new LedgerlineError('unavailable', lines === '' ? what : `${what}; it said last:\n${lines}`);
}
