/** The process of one measurement: does it, and tells its report, or why there is none, to whoever started it. */
import { benches } from './benches.ts';
import type { Told } from './case.ts';
import type { Options, Report } from './report.ts';

const [name = '', pace] = process.argv.slice(2);
if (!Object.hasOwn(benches, name) || process.send === undefined)
  throw new Error(`there is no bench "${name}" to do for anybody`);

// Its servers end when it does, and it when its starter does.
process.once('disconnect', () => process.exit(1));

const failure = (error: unknown): Told => ({
  failure: error instanceof Error ? (error.stack ?? error.message) : String(error),
});
const tell = (told: Told): void => void process.send?.(told, undefined, {}, () => process.exit());

// Thrown where nobody waits for it, as a peer's client does whose server has gone.
process.once('uncaughtException', (error) => tell(failure(error)));

try {
  const { run } = (await import(`./cases/${name}.ts`)) as { run: (options: Options) => Promise<Report> };
  tell({ report: await run({ quick: pace === 'quick' }) });
} catch (error) {
  tell(failure(error));
}
