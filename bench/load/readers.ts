/** The handle on a process of readers. */
import { sleep } from '../../src/base/clock.ts';
import type { HttpRequest } from '../peers/peer.ts';
import { Child } from './child.ts';
import type { ReaderReport, ReaderRequest, Until } from './reader-process.ts';

export interface OpenOptions {
  readonly until?: Until;
  /** How many connections may be opening at a time; more than there are: all at once. */
  readonly side?: number;
  /** How many of them look at the age of what they get. */
  readonly looking?: number;
}

export class Readers {
  readonly #child: Child<ReaderRequest>;

  private constructor(child: Child<ReaderRequest>) {
    this.#child = child;
  }

  static async start(): Promise<Readers> {
    return new Readers(await Child.start<ReaderRequest>('reader-process.ts'));
  }

  /** Resolves when every stream is open. */
  async open(port: number, requests: readonly HttpRequest[], options: OpenOptions = {}): Promise<void> {
    const { until = 'first bytes', side = 50, looking = 20 } = options;
    await this.#child.ask({ do: 'open', port, requests, until, side, looking });
  }

  report(): Promise<ReaderReport> {
    return this.#child.ask({ do: 'report' });
  }

  /**
   * They share the machine with what they watch: they may be behind, but nothing may be missing. Rejects when nothing has come for a
   * while and something still should.
   */
  async arrival(frames: number): Promise<ReaderReport> {
    const all = { frames: 0, bytes: 0, agesMs: [] as number[], turnedAway: 0 };
    for (let silentLooks = 0; silentLooks < 400; silentLooks += 1) {
      const report = await this.report();
      if (report.frames > 0) silentLooks = 0;
      all.frames += report.frames;
      all.bytes += report.bytes;
      all.turnedAway += report.turnedAway;
      for (const age of report.agesMs) all.agesMs.push(age);
      if (all.frames >= frames) return all;
      await sleep(50);
    }
    throw new Error(`${all.frames} of ${frames} events arrived`);
  }

  async stall(): Promise<void> {
    await this.#child.ask({ do: 'stall' });
  }

  async cut(): Promise<void> {
    await this.#child.ask({ do: 'cut' });
  }

  end(): void {
    this.#child.end();
  }
}
