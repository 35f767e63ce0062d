/** The interface between `main.ts` and the parts of the benchmark. */

export interface PartOptions {
  /** How many times each measurement is repeated. The tables show medians. */
  readonly rounds: number;
  /** The length of one measurement of steady load. */
  readonly seconds: number;
  /** Reports progress on stderr. */
  readonly report: (text: string) => void;
}

/**
 * Measures, ends the processes that it started, and removes its files.
 * @returns Markdown: ratios first, then the figures behind them; headings from "###" on
 */
export type RunPart = (options: PartOptions) => Promise<string>;

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
