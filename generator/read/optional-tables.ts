/**
 * Reads and checks the optional tables: `game_titles`, alternative titles; `game_ids` and `platform_ids`, ids that
 * other sources have given to games and platforms. All of them are read whole in every run.
 */

import { externalIdKey, parseExternalId } from '../../find/names/external-ids.ts';
import type { Row, Value } from '../../lib/database/database.ts';
import { OPTIONAL_TABLES, type OptionalTable } from '../../lib/database/schema.ts';
import { type Id, textOfId } from '../../lib/format/index/ids.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { type Report, RowFault } from '../report/report.ts';
import type { ExternalIds, PlatformNumber } from '../rows/catalogue.ts';
import { valueOfDigits } from '../rows/ids.ts';
import type { ReadTable } from './read-table.ts';
import { checkId, checkText, noteOddText } from './row-checks.ts';

/** The rows of each table that exists, in the order of the database. */
export type OptionalTables = Readonly<Partial<Record<OptionalTable, readonly Row[]>>>;

/** The block of all rows of these tables, for their faults. */
const BLOCK = 'optional';

export async function readOptionalTables(
  readTable: ReadTable,
  tables: readonly OptionalTable[],
): Promise<OptionalTables> {
  const found: Partial<Record<OptionalTable, readonly Row[]>> = {};
  for (const table of tables) {
    const rows: Row[] = [];
    found[table] = rows;
    const columns = Object.keys(OPTIONAL_TABLES[table].columns).join(', ');
    await readTable(table, { columns, blockOf: () => BLOCK, take: (row) => rows.push(row) });
  }
  return found;
}

/** Takes each row with the id of its game or platform. What it throws as a RowFault leaves the row out. */
function takeRows(
  rows: OptionalTables,
  table: OptionalTable,
  report: Report,
  take: (owner: Id, row: Row) => void,
): void {
  const [column] = Object.keys(OPTIONAL_TABLES[table].columns);
  for (const row of rows[table] ?? []) {
    try {
      take(checkId(row[0], column), row);
    } catch (error) {
      if (!(error instanceof RowFault)) throw error;
      report.leaveOut(table, BLOCK, row[0], error);
    }
  }
}

function noOwner(noun: 'game' | 'platform', id: Value): RowFault {
  const reason = `its ${noun} does not exist or is left out`;
  return new RowFault(reason, id, { isConsequence: true });
}

/**
 * @param isPublished tells whether a game is published
 * @returns the titles of each published game by its id: in the order of UTF-16 code units, each once
 */
export function checkTitles(
  rows: OptionalTables,
  report: Report,
  isPublished: (id: Id) => boolean,
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  takeRows(rows, 'game_titles', report, (game, [id, value]) => {
    if (!isPublished(game)) throw noOwner('game', id);
    const title = checkText(value, 'title');
    getOrAdd(found, textOfId(game), () => []).push(title);
  });
  for (const [key, titles] of found) {
    // Without a comparator, sort() compares by UTF-16 code unit.
    titles.sort();
    const id = valueOfDigits(key);
    const once = titles.filter((title, at) => {
      if (title !== titles[at - 1]) return true;
      const fault = new RowFault('the title appears twice for its game', title);
      report.leaveOut('game_titles', BLOCK, id, fault);
      return false;
    });
    const warn = (reason: string, text: Value) =>
      report.warn('game_titles', BLOCK, id, reason, text);
    for (const title of once) noteOddText(title, 'title', warn, 'name', 'searched');
    found.set(key, once);
  }
  return found;
}

/** Leaves out, and reports, what no request can name. @param isPublished tells whether a game is published */
export function checkIds(
  rows: OptionalTables,
  report: Report,
  { numberOf }: { readonly numberOf: ReadonlyMap<string, PlatformNumber> },
  isPublished: (id: Id) => boolean,
): ExternalIds {
  const read = <T>(noun: 'game' | 'platform', ownerOf: (id: Id) => T | undefined) => {
    const found = new Map<string, T[]>();
    takeRows(rows, `${noun}_ids`, report, (id, [owner, source, value]) => {
      const published = ownerOf(id);
      if (published === undefined) throw noOwner(noun, owner);
      const key = externalIdKey(
        checkText(source, 'source'),
        checkText(String(value ?? ''), 'value'),
      );
      if (parseExternalId(key) === undefined)
        throw new RowFault('source has other characters than letters, digits, - and _', source);
      const owners = getOrAdd(found, key, () => []);
      // Two spellings of one id are one id.
      if (!owners.includes(published)) owners.push(published);
    });
    return found;
  };
  const ofPlatforms = read('platform', (id) => numberOf.get(textOfId(id)));
  for (const numbers of ofPlatforms.values()) numbers.sort((a, b) => a - b);
  const ofGames = read('game', (id) => (isPublished(id) ? textOfId(id) : undefined));
  return { ofGames, ofPlatforms };
}
