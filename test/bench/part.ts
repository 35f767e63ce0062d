/** What `main.ts` hands to each part of the benchmark, and what it takes back. */

export interface PartOptions {
  /** How often each measurement is repeated; the tables show medians. */
  readonly rounds: number;
  /** How long one measurement of steady load lasts. */
  readonly seconds: number;
  /** Says on stderr how far the part is. */
  readonly say: (text: string) => void;
}

/**
 * Measures, ends all that it started, and removes what it wrote.
 * @returns Markdown: ratios first, then the figures that they come from; headings from "###" on
 */
export type RunPart = (options: PartOptions) => Promise<string>;

export const median = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
};

/** A Markdown table; all columns but the first are aligned to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '\n',
  );
}
