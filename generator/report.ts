/**
 * The rows that break the contract: left out, counted by reason and listed in `report.json`, so
 * that nothing broken is served and nothing is dropped in silence.
 */
import type { CATALOGUE_TABLES } from '../database/schema.ts';

export type Table = (typeof CATALOGUE_TABLES)[number];

/** How many rows of a table are listed one by one. */
const MOST_LISTED = 1_000;
/** Above this share of a table's rows nothing is published. */
export const LARGEST_SHARE_LEFT_OUT = 0.01;

export interface Report {
  /** Leaves a row out. @param id as the database shows it */
  leaveOut(table: Table, id: string | number | null, reason: string): void;
  /** Counts a cover that goes only because its game went. */
  addConsequence(): void;
  setRows(table: Table, rows: number): void;
  /** How many rows were left out in all. */
  total(): number;
  /** The tables of which too much was left out, as sentences. */
  faults(): string[];
  /** One line for each reason: "12 of covers: the game does not exist". */
  summary(): string[];
  /** The bytes of `report.json`. */
  encode(): string;
}

interface TableReport {
  rows: number;
  leftOut: number;
  readonly reasons: Map<string, number>;
  readonly listed: { table: Table; id: string | number | null; reason: string }[];
}

export function makeReport(): Report {
  const tables = new Map<Table, TableReport>();
  let consequences = 0;
  for (const table of ['platforms', 'games', 'covers', 'cover_files'] as const) {
    tables.set(table, { rows: 0, leftOut: 0, reasons: new Map(), listed: [] });
  }
  const of = (table: Table) => tables.get(table) as TableReport;
  const entries = () => [...tables];

  return {
    leaveOut(table, id, reason) {
      const report = of(table);
      report.leftOut++;
      report.reasons.set(reason, (report.reasons.get(reason) ?? 0) + 1);
      if (report.listed.length < MOST_LISTED) report.listed.push({ table, id, reason });
    },
    addConsequence() {
      consequences++;
    },
    setRows(table, rows) {
      of(table).rows = rows;
    },
    total: () => entries().reduce((sum, [, { leftOut }]) => sum + leftOut, 0),
    faults: () =>
      entries()
        .filter(([, { rows, leftOut }]) => leftOut > rows * LARGEST_SHARE_LEFT_OUT)
        .map(
          ([table, { rows, leftOut }]) =>
            `${leftOut} of ${rows} rows of ${table} break the contract, more than ${LARGEST_SHARE_LEFT_OUT * 100} %`,
        ),
    summary: () =>
      entries().flatMap(([table, { reasons }]) =>
        [...reasons].map(([reason, count]) => `${count} of ${table}: ${reason}`),
      ),
    encode() {
      const summary = Object.fromEntries(
        entries().map(([table, { rows, leftOut, reasons }]) => [
          table,
          { rows, left_out: leftOut, reasons: Object.fromEntries(reasons) },
        ]),
      );
      const listed = entries().flatMap(([, report]) => report.listed);
      const lines = listed.map((row) => JSON.stringify(row)).join(',\n');
      return `{"tables":${JSON.stringify(summary)},\n"covers_gone_with_their_game":${consequences},\n"rows":[${lines === '' ? '' : `\n${lines}\n`}]}\n`;
    },
  };
}
