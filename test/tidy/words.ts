/** Every outside word has one owner: where SQL, subjects, frames, status codes, time and the process may be spoken of. */
import { type Source, codeOf, lineAt } from './sources.ts';

export interface Word {
  readonly what: string;
  readonly pattern: RegExp;
  /** Files, or folders that end with a slash, below the part of the house that the words are of. */
  readonly owners: readonly string[];
}

/** What only a clock may ask. */
export const TIME_OR_CHANCE =
  /\bDate\.now\b|\bnew Date\(\)|\bperformance\.now\b|(?<!\.)\bset(?:Timeout|Interval|Immediate)\(|\bMath\.random\b|\brandom(?:UUID|Bytes|Int)\b|\bgetRandomValues\b|\bhrtime\b|\bAbortSignal\.timeout\b|timers\/promises/g;

const words: readonly Word[] = [
  {
    what: 'SQL',
    pattern: /\b(?:sql|tx)(?:<[^`;]*>)?`|\.unsafe\(/g,
    owners: ['ledger/', 'outbox/', 'turn/', 'step/', 'access/', 'db/', 'example/'],
  },
  {
    what: 'writing a table of the ledger',
    pattern: /\b(?:insert into|update|delete from) ledgerline\.(?:session|session_head|event|read_position)\b/g,
    owners: ['ledger/'],
  },
  {
    what: 'writing a table of the turns',
    pattern: /\b(?:insert into|update|delete from) ledgerline\.(?:client_request|turn|turn_request|approval)\b/g,
    owners: ['turn/'],
  },
  {
    what: 'writing a table of the deliveries',
    pattern: /\b(?:insert into|update|delete from) ledgerline\.(?:outbox|relay_shard|inbox|inbox_mark|inbox_dead)\b/g,
    owners: ['outbox/'],
  },
  {
    what: 'writing the table of revocations',
    pattern: /\b(?:insert into|update|delete from) ledgerline\.revocation\b/g,
    owners: ['access/'],
  },
  {
    what: 'writing a table of the steps',
    pattern: /\b(?:insert into|update|delete from) ledgerline\.step\b/g,
    owners: ['step/'],
  },
  {
    what: 'writing a table of the example',
    pattern: /\b(?:insert into|update|delete from) example\.(?:refund|entry)\b/g,
    owners: ['example/'],
  },
  { what: 'the Postgres client', pattern: /^import (?!type\b)[^;]*from 'postgres'/gm, owners: ['db/'] },
  { what: 'NATS', pattern: /from 'nats'/g, owners: ['bus/', 'outbox/'] },
  { what: 'the web client', pattern: /['"]@ledgerline\//g, owners: [] },
  { what: 'Hono', pattern: /from '(?:hono|@hono\/)/g, owners: ['http/'] },
  { what: 'a line of a frame', pattern: /(?:['"`]|\\n)(?:data|id|event|retry): /g, owners: ['sse/frame.ts'] },
  {
    what: 'a status code',
    pattern: /\b(?:status(?:Code)?\b[\s:=!<>(]*|writeHead\()[1-5]\d\d\b/g,
    // those in `cli` and `producer` are read, as a client
    owners: ['http/', 'sse/writer.ts', 'cli/', 'producer/'],
  },
  { what: 'the environment', pattern: /\bprocess\.env\b/g, owners: ['config.ts'] },
  {
    what: 'time or chance',
    pattern: TIME_OR_CHANCE,
    owners: ['base/clock.ts', 'base/service.ts'],
  },
  { what: 'standard output', pattern: /\bprocess\.stdout\b|\bconsole\./g, owners: ['cli/output.ts'] },
  { what: 'standard error', pattern: /\bprocess\.stderr\b/g, owners: ['base/log.ts', 'cli/output.ts'] },
  { what: 'a signal to us', pattern: /\bprocess\.(?:on|once)\(/g, owners: ['main.ts'] },
  { what: 'the end of the process', pattern: /\bprocess\.exit(?:Code)?\b/g, owners: ['main.ts'] },
  { what: 'a brand', pattern: /\bas (?:Sequence|Cursor)\b/g, owners: ['event/sequence.ts'] },
  {
    what: 'counting on a sequence',
    pattern: /\b(?:sequence|cursor|watermark|head|last)\s*[+-]\s*1\b/gi,
    owners: ['event/sequence.ts', 'room/gap.ts'],
  },
];

export const wordBreaches = (sources: readonly Source[]): string[] => spokenOutside(words, sources, 'src/');

/** Where one of the words is spoken by somebody else than its owners. */
export function spokenOutside(list: readonly Word[], sources: readonly Source[], part: string): string[] {
  return sources.flatMap(({ path, text }) => {
    const code = codeOf(text);
    const inside = path.startsWith(part) ? path.slice(part.length) : path;
    return list
      .filter(
        ({ owners }) => !owners.some((owner) => (owner.endsWith('/') ? inside.startsWith(owner) : inside === owner)),
      )
      .flatMap(({ what, pattern, owners }) =>
        [...code.matchAll(pattern)].map(
          ({ index, 0: found }) => `${path}:${lineAt(code, index)}: ${what} belongs to ${owners.join(', ')}: ${found}`,
        ),
      );
  });
}

const untestlike: readonly Word[] = [
  { what: 'a sleep', pattern: /(?<!\.)\bsetTimeout\b|\bsleep\(/g, owners: ['support/waits.ts'] },
  {
    what: 'a test that does not run',
    pattern: /\b(?:test|it|describe|context|ctx)\.(?:skip|only|todo|skipIf|runIf|fails)\b/g,
    owners: [],
  },
];

/** Tests wait for conditions, and all of them run. */
export function testBreaches(sources: readonly Source[]): string[] {
  return sources.flatMap(({ path, text }) => {
    const code = codeOf(text);
    return untestlike
      .filter(({ owners }) => !owners.some((owner) => path === `test/${owner}`))
      .flatMap(({ what, pattern }) =>
        [...code.matchAll(pattern)].map(({ index, 0: found }) => `${path}:${lineAt(code, index)}: ${what}: ${found}`),
      );
  });
}
