/** Measures candidates in turn, and makes tables of their figures. */

export interface Options {
  /** How many times each candidate is measured. Tables show medians. */
  readonly rounds: number;
  /** The length of one measurement under load. */
  readonly seconds: number;
  /** Reports progress. */
  readonly report: (text: string) => void;
}

export type Figures = Readonly<Record<string, number>>;

export interface Candidate {
  readonly name: string;
  /** @param round from 1 on, or 0 for the warm-up */
  readonly measure: (round: number) => Promise<Figures>;
}

export interface Findings {
  /** By candidate, one entry per round; undefined where it failed. */
  readonly found: ReadonlyMap<string, readonly (Figures | undefined)[]>;
  readonly failures: readonly string[];
}

/** The name of this checkout among the candidates. */
export const PRODUCT = 'this product';
/**
 * Measures each candidate once per round, so that all have the same other load on the machine. If one fails,
 * that is reported, and the others go on.
 */
export async function measureInTurn(
  candidates: readonly Candidate[],
  { rounds, report }: Pick<Options, 'rounds' | 'report'>,
  { isWarmedUp }: { isWarmedUp: boolean },
): Promise<Findings> {
  const found = new Map<string, (Figures | undefined)[]>(candidates.map(({ name }) => [name, []]));
  const failures: string[] = [];
  for (let round = isWarmedUp ? 0 : 1; round <= rounds; round++) {
    for (const { name, measure } of candidates) {
      const when = round === 0 ? 'warm-up' : `round ${round}`;
      let figures: Figures | undefined;
      try {
        figures = await measure(round);
        const texts = Object.entries(figures).map(([figure, value]) => `${figure} ${cell(value)}`);
        report(`  ${when}, ${name}: ${texts.join(', ')}`);
      } catch (error) {
        failures.push(`${when}, ${name}: ${(error as Error).message}`);
        report(`  ${failures.at(-1)}`);
      }
      if (round > 0) found.get(name)?.push(figures);
    }
  }
  return { found, failures };
}

/** Starts something when it is first asked for. If it cannot start, everyone who asks gets the error. */
export function lazily<T>(start: () => Promise<T>): () => Promise<T> {
  let started: Promise<T> | undefined;
  return () => {
    started ??= start();
    return started;
  };
}

/** Of all rounds in which the candidate did not fail. */
export function valuesOf({ found }: Findings, name: string, figure: string): number[] {
  return (found.get(name) ?? []).flatMap((figures) => figures?.[figure] ?? []);
}

/** @returns NaN if the candidate always failed */
export function medianOf(findings: Findings, name: string, figure: string): number {
  return median(valuesOf(findings, name, figure));
}

/**
 * The median of the ratios of the rounds: two measurements of the same round are close in time.
 * @returns NaN if one of the two always failed
 */
export function ratioOf({ found }: Findings, over: string, under: string, figure: string): number {
  const unders = found.get(under) ?? [];
  const ratios = (found.get(over) ?? []).map(
    (figures, round) => (figures?.[figure] ?? Number.NaN) / (unders[round]?.[figure] ?? Number.NaN),
  );
  return median(ratios.filter((ratio) => !Number.isNaN(ratio)));
}

/** @returns NaN for an empty list */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Three significant digits; "failed" for what is no number. */
export function cell(value: number): string {
  if (!Number.isFinite(value)) return 'failed';
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value.toFixed(value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

/** A Markdown table. All columns except the first are right-aligned. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map((_, i) => (i === 0 ? '---' : '--:'))), ...rows.map(line)].join(
    '\n',
  );
}

/** The name of a candidate that does a kind of work. */
export const nameOf = (work: string, who: string) => `${work}: ${who}`;

/**
 * The rows of a table with a column for each who does the work. Leaves out rows without a cell.
 * @param toCell gets the name of a candidate and that of the product for the same work
 */
export function crossRows(
  { found }: Findings,
  works: readonly string[],
  columns: readonly string[],
  toCell: (name: string, product: string) => string,
): string[][] {
  const rows = works.map((work) =>
    columns.map((who) => {
      const name = nameOf(work, who);
      return found.has(name) ? toCell(name, nameOf(work, PRODUCT)) : '–';
    }),
  );
  const named = rows.map((cells, index) => [works[index], ...cells]);
  return named.filter(([, ...cells]) => cells.some((text) => text !== '–'));
}

/** Markdown about what failed; empty if nothing did. */
export function failureList({ failures }: Findings): string {
  if (failures.length === 0) return '';
  const lines = failures.map((failure) => `- ${failure.split('\n', 1)[0]}`);
  return `Failed, and not in the figures:\n\n${lines.join('\n')}`;
}
