/**
 * The report of a run: the faults of rows. Rows that break the contract are left out, counted by reason,
 * and listed with their ids and values, so that no row is dropped silently. Warnings concern published
 * data and never prevent publishing.
 *
 * Faults are kept by block (see `reuse/blocks.ts`). A run that reads only some blocks takes those of the others
 * from the run before, so its report is that of a full run.
 */

import path from 'node:path';
import type { Value } from '../../lib/database/database.ts';
import type { CATALOGUE_TABLES, OptionalTable } from '../../lib/database/schema.ts';
import { REPORT } from '../../lib/format/layout.ts';
import type { RunStatus } from '../../lib/format/status-file.ts';
import { replaceFile } from '../../lib/generations/files/replace-file.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { printableJson } from '../../lib/program/printable.ts';
import type { Progress } from '../../lib/program/progress.ts';
import { utcNow } from '../../lib/program/utc-now.ts';
import { compareUnits } from '../rows/values.ts';

export type TableName = keyof typeof CATALOGUE_TABLES | OptionalTable;

/** How many rows of a table are listed for each reason, and how many statuses. */
export const MOST_LISTED = 100;
/** Nothing is published if a table has at least this many bad rows and more than the percentage below. */
const FEWEST_BAD_ROWS = 10;
const LARGEST_PERCENTAGE = 1;
/** How many reasons a refusal names for a table; the report has all of them. */
const MOST_REASONS_NAMED = 3;

/** A listed row: its id, and the value that is wrong, as the report shows them. */
interface ListedRow {
  readonly id: Value;
  readonly value: Value;
}

/** Something that is published and probably wrong. */
export interface Warning {
  /** The table of the rows; null if the warning is not about rows. */
  readonly table: TableName | null;
  readonly reason: string;
  readonly count: number;
  /** The first rows, in the order of their ids. */
  readonly rows: readonly ListedRow[];
}

/** What a report says of the end of its run. */
export interface ReportEnd {
  readonly outcome: RunStatus['outcome'] | 'dry_run' | 'held';
  readonly error: string | null;
  /**
   * How many covers of the current generation stay public as they are although the run would have removed or
   * changed them. Null unless the run was refused.
   */
  readonly takedowns_waiting: number | null;
}

/** The members of `report.json`. */
export interface ReportContent {
  readonly tables: Readonly<
    Record<string, { rows: number; left_out: number; reasons: Record<string, number> }>
  >;
  readonly covers_gone_with_their_game: number;
  /** How many covers are not public, by status, the most frequent first. */
  readonly not_public: Readonly<Record<string, number>>;
  readonly rows: readonly { table: TableName; id: Value; reason: string; value: Value }[];
  readonly warnings: readonly Warning[];
}

/** The rows of one table that have the same fault or warning. */
interface ReportedRows {
  readonly table: TableName;
  readonly kind: 'fault' | 'consequence' | 'warning';
  readonly reason: string;
  count: number;
  /** The first ones by id, then value: at most {@link MOST_LISTED}. */
  readonly rows: ListedRow[];
}

/** What a report has about the rows of one block. */
export interface BlockFindings {
  /** By table, kind and reason. */
  readonly findings: Record<string, ReportedRows>;
  /** The covers that would be published if their games had not been left out. */
  coversGone: number;
  /** Whether every run that reads rows must read the block. */
  dependsOnOthers: boolean;
}

/** The block of rows whose findings are not kept: platforms, and rows whose block cannot be told. */
export const NO_BLOCK = '';

/** Thrown for a row that breaks the contract and is left out. The message is the reason. */
export class RowFault extends Error {
  override readonly name = 'RowFault';
  /** The wrong value. */
  readonly value: Value;
  /**
   * The row itself is valid, and is left out only because another row is, or is not there: a platform,
   * game or cover that was deleted is an intention.
   */
  readonly isConsequence: boolean;
  /**
   * The fault depends on rows of other blocks, so that every run that reads rows looks for it; or on the order
   * of all rows, so that the next run must read all of them.
   */
  readonly dependsOn: 'its block' | 'other blocks' | 'all rows';

  constructor(
    reason: string,
    value: Value,
    cause: Partial<Pick<RowFault, 'isConsequence' | 'dependsOn'>> = {},
  ) {
    super(reason);
    this.value = value;
    this.isConsequence = cause.isConsequence ?? false;
    this.dependsOn = cause.dependsOn ?? 'its block';
  }
}

/** In its methods, `block` is undefined if a row has no id that tells its block. */
export class Report {
  private readonly byBlock = new Map<string, BlockFindings>();
  private readonly rowsOf = new Map<TableName, number>(
    (['platforms', 'games', 'covers', 'cover_files'] as const).map((table) => [table, 0]),
  );
  private readonly otherWarnings: Warning[] = [];
  private needsAllRows = false;
  private notPublic: readonly (readonly [status: string, covers: number])[] = [];

  /** Counts and lists a row that is left out. */
  leaveOut(table: TableName, block: string | undefined, id: Value, fault: RowFault): void {
    const { message: reason, value, isConsequence, dependsOn } = fault;
    this.add(block, { table, kind: isConsequence ? 'consequence' : 'fault', reason }, id, value);
    if (dependsOn === 'all rows') this.needsAllRows = true;
    if (dependsOn === 'other blocks') this.inBlock(block).dependsOnOthers = true;
  }

  /** Counts and lists a row that is published but probably wrong. */
  warn(table: TableName, block: string | undefined, id: Value, reason: string, value: Value): void {
    this.add(block, { table, kind: 'warning', reason }, id, value);
  }

  /** Adds complete warnings. */
  addWarnings(warnings: readonly Warning[]): void {
    this.otherWarnings.push(...warnings);
  }

  /** Counts a cover that would be published if its game had not been left out. */
  addConsequence(block: string | undefined): void {
    this.inBlock(block).coversGone++;
  }

  /** Sets the number of rows. A table that a database may lack is in the report once this is called. */
  setRows(table: TableName, rows: number): void {
    this.rowsOf.set(table, rows);
  }

  /** Sets how many covers are not public, by status, and warns of statuses other than approved, pending and rejected. */
  setNotPublic(counts: readonly (readonly [status: Value, covers: number])[]): void {
    const sorted = counts
      .map(([status, covers]) => [String(shownValue(status ?? 'NULL')) || 'empty', covers] as const)
      .sort(([a, m], [b, n]) => n - m || compareValues(a, b));
    this.notPublic = sorted.slice(0, MOST_LISTED);
    const others = sorted.filter(([status]) => status !== 'pending' && status !== 'rejected');
    if (others.length === 0) return;
    const count = others.reduce((total, [, covers]) => total + covers, 0);
    const reason = `the status is not approved, pending or rejected: not public (${countsText(others)})`;
    this.addWarnings([{ table: 'covers', reason, count, rows: [] }]);
  }

  /** Takes the findings of a block that is not read. */
  keep(block: string, findings: BlockFindings): void {
    this.byBlock.set(block, findings);
  }

  /** The findings of each block, for the next run; undefined if that must read all rows. */
  blocks(): (readonly [block: string, BlockFindings])[] | undefined {
    if (this.needsAllRows) return undefined;
    return [...this.byBlock].filter(([block]) => block !== NO_BLOCK);
  }

  /** The number of rows left out, over all tables. */
  total(): number {
    return [...this.rowsOf.keys()].reduce((total, table) => total + sum(this.leftOut(table)), 0);
  }

  /** One text for each table with too many rows left out. If there is any, nothing is published. */
  faults(): string[] {
    return [...this.rowsOf].flatMap(([table, rows]) => {
      const found = this.leftOut(table);
      const fault = faultOf(table, rows, sum(found), sum(this.merge(table, ['fault'])));
      return fault === undefined ? [] : [`${fault} (${mainReasons(found)})`];
    });
  }

  content(): ReportContent {
    const tables: Record<string, ReportContent['tables'][string]> = {};
    const rows: ReportContent['rows'][number][] = [];
    const warnings: Warning[] = [];
    for (const [table, count] of this.rowsOf) {
      const found = this.leftOut(table);
      const reasons = Array.from(found, ([reason, { count }]) => [reason, count]);
      tables[table] = { rows: count, left_out: sum(found), reasons: Object.fromEntries(reasons) };
      for (const [reason, finding] of found)
        for (const { id, value } of finding.rows) rows.push({ table, id, reason, value });
      for (const [reason, finding] of this.merge(table, ['warning']))
        warnings.push({ table, reason, ...finding });
    }
    let gone = 0;
    for (const { coversGone } of this.byBlock.values()) gone += coversGone;
    return {
      tables,
      covers_gone_with_their_game: gone,
      not_public: Object.fromEntries(this.notPublic),
      rows,
      warnings: [...warnings, ...this.otherWarnings],
    };
  }

  private leftOut(table: TableName): Merged {
    return this.merge(table, ['fault', 'consequence']);
  }

  private inBlock(block: string | undefined): BlockFindings {
    if (block === undefined) this.needsAllRows = true;
    const none: BlockFindings = { findings: {}, coversGone: 0, dependsOnOthers: false };
    return getOrAdd(this.byBlock, block ?? NO_BLOCK, () => none);
  }

  private add(
    block: string | undefined,
    found: Pick<ReportedRows, 'table' | 'kind' | 'reason'>,
    id: Value,
    value: Value,
  ) {
    const { findings } = this.inBlock(block);
    const key = `${found.table} ${found.kind} ${found.reason}`;
    findings[key] ??= { ...found, count: 0, rows: [] };
    const finding = findings[key];
    finding.count++;
    list(finding.rows, { id: shownValue(id), value: shownValue(value) });
  }

  /** The findings of some kinds over all blocks, by reason. */
  private merge(table: TableName, kinds: readonly ReportedRows['kind'][]): Merged {
    const merged = new Map<string, Pick<ReportedRows, 'count' | 'rows'>>();
    for (const { findings } of this.byBlock.values()) {
      for (const finding of Object.values(findings)) {
        if (finding.table !== table || !kinds.includes(finding.kind)) continue;
        const all = getOrAdd(merged, finding.reason, () => ({ count: 0, rows: [] }));
        all.count += finding.count;
        for (const row of finding.rows) list(all.rows, row);
      }
    }
    return new Map([...merged].sort(([a], [b]) => compareUnits(a, b)));
  }
}

type Merged = ReadonlyMap<string, Pick<ReportedRows, 'count' | 'rows'>>;

function sum(found: Merged): number {
  return [...found.values()].reduce((total, { count }) => total + count, 0);
}

/** In UTF-16 code units. */
const LONGEST_SHOWN = 200;

/** @returns the value itself, or the start of a long text with its length; NaN and infinities as text */
export function shownValue(value: Value): Value {
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value);
  if (value === null || value.length <= LONGEST_SHOWN) return value;
  // Copied: a V8 slice would keep the whole text in memory as long as the report exists.
  const start = Buffer.from(value.slice(0, LONGEST_SHOWN).toWellFormed()).toString();
  return `${start}… (${value.length} characters)`;
}

/** Adds a row to a list in order, which keeps the first {@link MOST_LISTED}. */
function list(rows: ListedRow[], row: ListedRow): void {
  const last = rows.at(-1);
  if (rows.length === MOST_LISTED && last !== undefined && compareRows(last, row) <= 0) return;
  rows.splice(rows.findLastIndex((other) => compareRows(other, row) <= 0) + 1, 0, row);
  if (rows.length > MOST_LISTED) rows.pop();
}

function compareRows(a: ListedRow, b: ListedRow): number {
  return compareValues(a.id, b.id) || compareValues(a.value, b.value);
}

/** Orders null, then numbers, then texts. */
export function compareValues(a: Value, b: Value): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a === 'string' && typeof b === 'string') return compareUnits(a, b);
  const typeOrder = (value: Value) => (value === null ? 0 : typeof value === 'number' ? 1 : 2);
  return typeOrder(a) - typeOrder(b);
}

/** Why a table must not be published; undefined if it may be. @param bad those that no other row has caused */
function faultOf(table: TableName, rows: number, leftOut: number, bad: number): string | undefined {
  if (bad >= FEWEST_BAD_ROWS && bad * 100 > rows * LARGEST_PERCENTAGE) {
    return `${bad} of ${rows} rows of ${table} break the contract, more than ${LARGEST_PERCENTAGE} %`;
  }
  // A few bad rows can be most of a small table, and one bad platform can have most of the games.
  if (leftOut * 2 > rows) {
    return `${leftOut} of ${rows} rows of ${table} are left out, more than half`;
  }
  return undefined;
}

function mainReasons(found: ReadonlyMap<string, { readonly count: number }>): string {
  const sorted = [...found].sort(([, a], [, b]) => b.count - a.count);
  const texts = sorted.map(([reason, { count }]) => `${count}: ${reason}`);
  return firstOf(texts, MOST_REASONS_NAMED).join('; ');
}

/** One line for each reason: "12 of covers: the game does not exist". */
export function summaryOf({ tables }: ReportContent): string[] {
  return Object.entries(tables).flatMap(([table, { reasons }]) =>
    Object.entries(reasons).map(([reason, count]) => `${count} of ${table}: ${reason}`),
  );
}

/** How many statuses a line names; the report lists {@link MOST_LISTED}. */
const MOST_STATUSES_NAMED = 8;

/** Numbers of covers by status as "ok: 80, queue: 40", the first ones of them. */
export function countsText(counts: readonly (readonly [status: string, covers: number])[]): string {
  const texts = counts.map(([status, covers]) => `${status}: ${covers}`);
  return firstOf(texts, MOST_STATUSES_NAMED).join(', ');
}

function firstOf(texts: readonly string[], most: number): readonly string[] {
  return texts.length > most ? [...texts.slice(0, most), '…'] : texts;
}

/** How many rows a warning names, and how many code units of the value of each. */
const MOST_EXAMPLES = 3;
const LONGEST_EXAMPLE = 90;

/** A warning as one line without a full stop, with its first rows: `2 of games: … (7: "Tom &amp; Jerry", 9: …)`. */
export function warningText({ table, reason, count, rows }: Warning): string {
  if (table === null) return reason;
  const examples = rows.slice(0, MOST_EXAMPLES).map(({ id, value }) => {
    if (value === null) return String(id);
    const text = String(value);
    const shown = text.length > LONGEST_EXAMPLE ? `${text.slice(0, LONGEST_EXAMPLE)}…` : value;
    return `${id}: ${printableJson(shown)}`;
  });
  const more = count > examples.length ? ', …' : '';
  const shown = examples.length === 0 ? '' : ` (${examples.join(', ')}${more})`;
  return `${count} of ${table}: ${reason}${shown}`;
}

/**
 * Writes the report of a run to the snapshots folder. If that fails, it warns instead of throwing an
 * error, which would hide how the run ended.
 * @returns whether the report was written
 */
export function saveReport(
  snapshotsDir: string,
  content: ReportContent,
  end: ReportEnd,
  progress: Progress,
): boolean {
  try {
    // Only the owner may read the report: a row that was left out may hold values that are not public.
    replaceFile(path.join(snapshotsDir, REPORT), encodeReport(content, end), { mode: 0o600 });
    return true;
  } catch (cause) {
    progress.warn(`The report of this run could not be written: ${(cause as Error).message}`);
    return false;
  }
}

/** The bytes of `report.json`: a line for each member, and for each entry of a list. */
function encodeReport(content: ReportContent, end: ReportEnd): string {
  const encode = (value: unknown) =>
    Array.isArray(value) && value.length > 0
      ? `[\n${value.map(printableJson).join(',\n')}\n]`
      : printableJson(value);
  const members = Object.entries(content).map(([name, value]) => `"${name}":${encode(value)}`);
  const head = printableJson({ finished_at: utcNow(), ...end }).slice(1, -1);
  return `{${[head, ...members].join(',\n')}}\n`;
}
