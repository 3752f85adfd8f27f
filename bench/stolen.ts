/** How much of a virtual machine's processors went to others on its host, as Linux counts it. */
import { readFileSync } from 'node:fs';

export interface ProcessorTime {
  readonly total: number;
  readonly stolen: number;
}

/** user, nice, system, idle, iowait, irq, softirq, steal [spec: proc_stat(5)]; what follows is in user and nice already. */
const COUNTED = 8;

/** Of /proc/stat; undefined when it is not that. */
export function readProcessorTime(text: string): ProcessorTime | undefined {
  const line = /^cpu +(?<fields>.*)$/m.exec(text)?.groups?.['fields'];
  const fields = line?.split(' ').slice(0, COUNTED).map(Number) ?? [];
  if (fields.length < COUNTED || fields.some(Number.isNaN)) return undefined;
  return { total: fields.reduce((sum, field) => sum + field, 0), stolen: fields[COUNTED - 1] ?? 0 };
}

/** Undefined where the system does not tell. */
export function processorTime(): ProcessorTime | undefined {
  try {
    return readProcessorTime(readFileSync('/proc/stat', 'utf8'));
  } catch {
    return undefined; // no Linux
  }
}

/** From 0 to 1, of the time between the two. */
export function stolenBetween(before?: ProcessorTime, after?: ProcessorTime): number | undefined {
  if (before === undefined || after === undefined || after.total <= before.total) return undefined;
  return (after.stolen - before.stolen) / (after.total - before.total);
}
