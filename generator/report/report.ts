/**
 * The report of a run: the faults of rows. Rows that break the contract are left out, counted by reason,
 * and listed with their ids and values, so that no row is dropped silently. Warnings concern published
 * data and never prevent publishing.
 */
import type { Value } from '../../database/database.ts';
import type { CATALOGUE_TABLES, GAME_TITLES_TABLE } from '../../database/schema.ts';
import type { RunStatus } from '../../format/status-file.ts';
import { type ListedRow, makeReasons, type Reasons } from './reasons.ts';
import type { RowFault } from './row-fault.ts';
import { printableJson } from './shown-value.ts';

export type Table = keyof typeof CATALOGUE_TABLES | keyof typeof GAME_TITLES_TABLE;

/** Nothing is published if a table has at least this many bad rows and more than the percentage below. */
const FEWEST_BAD_ROWS = 10;
const LARGEST_PERCENTAGE = 1;
/** How many reasons a refusal names for a table; the report has all of them. */
const MOST_REASONS_NAMED = 3;

/** Something that is published and probably wrong. */
export interface Warning {
  /** The table of the rows; null if the warning is not about rows. */
  readonly table: Table | null;
  readonly reason: string;
  readonly count: number;
  /** The first rows, in the order of their ids. */
  readonly rows: readonly ListedRow[];
}

/** How a run ended. */
export interface RunEnd {
  readonly finished_at: string;
  readonly outcome: RunStatus['outcome'] | 'dry_run';
  readonly error: string | null;
  /**
   * How many covers of the current generation stay public although the run would have removed them. Null
   * unless the run was refused.
   */
  readonly takedowns_waiting: number | null;
}

/** The members of `report.json`. */
export interface ReportContent {
  readonly tables: Readonly<
    Record<string, { rows: number; left_out: number; reasons: Record<string, number> }>
  >;
  readonly covers_gone_with_their_game: number;
  readonly rows: readonly { table: Table; id: Value; reason: string; value: Value }[];
  readonly warnings: readonly Warning[];
}

export interface Report {
  /** Counts and lists a row that is left out. */
  leaveOut(table: Table, id: Value, fault: RowFault): void;
  /** Counts and lists a row that is published but probably wrong. */
  warn(table: Table, id: Value, reason: string, value: Value): void;
  /** Adds complete warnings. */
  addWarnings(warnings: readonly Warning[]): void;
  /** Counts a cover that would be published if its game had not been left out. */
  addConsequence(): void;
  /** Sets the number of rows read. A table that a database may lack is in the report once this is called. */
  setRows(table: Table, rows: number): void;
  /** The number of rows left out, over all tables. */
  total(): number;
  /** One text for each table with too many rows left out. If there is any, nothing is published. */
  faults(): string[];
  /** One line for each reason: "12 of covers: the game does not exist". */
  summary(): string[];
  content(): ReportContent;
}

interface TableReport {
  rows: number;
  leftOut: number;
  /** How many of the rows in `leftOut` are valid, and were left out only because of another row. */
  consequences: number;
  readonly reasons: Reasons;
  readonly warnings: Reasons;
}

export function makeReport(): Report {
  const tables = new Map<Table, TableReport>();
  const otherWarnings: Warning[] = [];
  let coversOfLeftOutGames = 0;
  const of = (table: Table): TableReport => {
    const known = tables.get(table);
    if (known !== undefined) return known;
    // Rows of game_titles have no ids, so the database may return them in any order.
    const isSorted = table === 'game_titles';
    const [reasons, warnings] = [makeReasons(isSorted), makeReasons(isSorted)];
    const added = { rows: 0, leftOut: 0, consequences: 0, reasons, warnings };
    tables.set(table, added);
    return added;
  };
  for (const table of ['platforms', 'games', 'covers', 'cover_files'] as const) of(table);
  const entries = () => [...tables];

  return {
    leaveOut(table, id, { message, value, isConsequence }) {
      const report = of(table);
      report.leftOut++;
      if (isConsequence) report.consequences++;
      report.reasons.add(message, id, value);
    },
    warn: (table, id, reason, value) => of(table).warnings.add(reason, id, value),
    addWarnings: (warnings) => otherWarnings.push(...warnings),
    addConsequence() {
      coversOfLeftOutGames++;
    },
    setRows(table, rows) {
      of(table).rows = rows;
    },
    total: () => entries().reduce((sum, [, { leftOut }]) => sum + leftOut, 0),
    faults: () =>
      entries().flatMap(([table, report]) => {
        const fault = faultOf(table, report);
        return fault === undefined ? [] : [`${fault} (${mainReasons(report)})`];
      }),
    summary: () =>
      entries().flatMap(([table, { reasons }]) =>
        reasons.entries().map(([reason, { count }]) => `${count} of ${table}: ${reason}`),
      ),
    content: () => ({
      tables: Object.fromEntries(
        entries().map(([table, { rows, leftOut, reasons }]) => {
          const counts = reasons.entries().map(([reason, { count }]) => [reason, count]);
          return [table, { rows, left_out: leftOut, reasons: Object.fromEntries(counts) }];
        }),
      ),
      covers_gone_with_their_game: coversOfLeftOutGames,
      rows: entries().flatMap(([table, { reasons }]) =>
        reasons
          .entries()
          .flatMap(([reason, { rows }]) =>
            rows.map(({ id, value }) => ({ table, id, reason, value })),
          ),
      ),
      warnings: [
        ...entries().flatMap(([table, { warnings }]) =>
          warnings.entries().map(([reason, found]) => ({ table, reason, ...found })),
        ),
        ...otherWarnings,
      ],
    }),
  };
}

/** Why a table must not be published; undefined if it may be. */
function faultOf(table: Table, { rows, leftOut, consequences }: TableReport): string | undefined {
  const bad = leftOut - consequences;
  if (bad >= FEWEST_BAD_ROWS && bad * 100 > rows * LARGEST_PERCENTAGE) {
    return `${bad} of ${rows} rows of ${table} break the contract, more than ${LARGEST_PERCENTAGE} %`;
  }
  // A few bad rows can be most of a small table, and one bad platform can have most of the games.
  if (leftOut * 2 > rows) {
    return `${leftOut} of ${rows} rows of ${table} are left out, more than half`;
  }
  return undefined;
}

function mainReasons({ reasons }: TableReport): string {
  const sorted = reasons.entries().sort(([, a], [, b]) => b.count - a.count);
  const named = sorted
    .slice(0, MOST_REASONS_NAMED)
    .map(([reason, { count }]) => `${count}: ${reason}`);
  return [...named, ...(sorted.length > named.length ? ['…'] : [])].join('; ');
}

/** One line for each reason, from a complete report; as `Report.summary`. */
export function summaryOf({ tables }: ReportContent): string[] {
  return Object.entries(tables).flatMap(([table, { reasons }]) =>
    Object.entries(reasons).map(([reason, count]) => `${count} of ${table}: ${reason}`),
  );
}

/** A warning as one line without a full stop. */
export function warningText({ table, reason, count }: Warning): string {
  return table === null ? reason : `${count} of ${table}: ${reason}`;
}

/** The bytes of `report.json`. */
export function encodeReport(
  { tables, covers_gone_with_their_game, rows, warnings }: ReportContent,
  end: RunEnd,
): string {
  const lines = (list: readonly unknown[]) =>
    list.length === 0 ? '[]' : `[\n${list.map(printableJson).join(',\n')}\n]`;
  const members = [
    printableJson(end).slice(1, -1),
    `"tables":${printableJson(tables)}`,
    `"covers_gone_with_their_game":${covers_gone_with_their_game}`,
    `"rows":${lines(rows)}`,
    `"warnings":${lines(warnings)}`,
  ];
  return `{${members.join(',\n')}}\n`;
}
