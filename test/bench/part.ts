/** The interface between `main.ts` and the parts of the benchmark, and what several parts need. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

export interface PartOptions {
  /** How many times each measurement is repeated. The tables show medians. */
  readonly rounds: number;
  /** The length of one measurement of steady load. */
  readonly seconds: number;
  /** How many games a catalogue has, in parts that make one of any size; undefined for their default. */
  readonly games?: number | undefined;
  /** Reports progress on stderr. */
  readonly report: (text: string) => void;
}

/**
 * Measures, ends the processes that it started, and removes its files.
 * @returns Markdown: ratios first, then the figures behind them; headings from "###" on
 */
export type RunPart = (options: PartOptions) => Promise<string>;

/**
 * Runs work that needs a folder and starts processes. Afterwards, ends what it has started, the last
 * first, and removes the folder.
 * @param work calls `atEnd` with each function that ends something
 */
export async function inNewFolder<T>(
  work: (folder: string, atEnd: (end: () => unknown) => void) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  process.once('exit', remove);
  const ends: (() => unknown)[] = [];
  try {
    return await work(folder, (end) => ends.push(end));
  } finally {
    for (const end of ends.reverse()) await end();
    process.removeListener('exit', remove);
    remove();
  }
}

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** A Markdown table. All columns except the first are right-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '\n',
  );
}
