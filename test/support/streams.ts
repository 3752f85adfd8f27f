/** Recorded streams of real model providers, which lie outside this repository: one JSON chunk a line. */
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

export interface RecordedStream {
  readonly name: string;
  /** Each chunk's JSON text, exactly as it was received. */
  readonly chunks: readonly string[];
}

/** Undefined when nobody said where they are; a place that was named and holds none is an error. */
export function recordedStreams(): readonly RecordedStream[] | undefined {
  const folder = process.env['LEDGERLINE_STREAMS_DIR'];
  if (folder === undefined || folder === '') return undefined;
  const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.ndjson')) : [];
  if (names.length === 0) throw new Error(`LEDGERLINE_STREAMS_DIR names ${folder}, which holds no .ndjson file`);
  return names.toSorted().map((name) => ({
    name: name.slice(0, -'.ndjson'.length),
    chunks: readFileSync(join(folder, name), 'utf8').split('\n').filter(Boolean),
  }));
}
