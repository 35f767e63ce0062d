/**
 * Reads and checks the optional tables `game_ids` and `platform_ids`: ids that other sources have given to games
 * and platforms. Both are read whole in every run.
 */
import type { Value } from '../../database/database.ts';
import { type Id, textOfId } from '../../format/index/ids.ts';
import { externalIdKey, parseExternalId } from '../../format/match/external-ids.ts';
import { getOrAdd } from '../get-or-add.ts';
import type { Report } from '../report/report.ts';
import type { Platforms } from './read-catalogue.ts';
import type { ReadTable } from './read-table.ts';
import { checkId, checkText, RowFault } from './row-checks.ts';

export type IdTable = 'game_ids' | 'platform_ids';
type IdRow = readonly [owner: Value, source: Value, value: Value];
export type IdRows = Readonly<Partial<Record<IdTable, readonly IdRow[]>>>;

/** What the generation says of ids of other sources. */
export interface ExternalIds {
  /** For each id, as `source:value`, the ids of its games, in decimal digits. */
  readonly ofGames: ReadonlyMap<string, readonly string[]>;
  /** For each id, the numbers of its platforms, in ascending order. */
  readonly ofPlatforms: ReadonlyMap<string, readonly number[]>;
  /** Whether they are those of the earlier generation. */
  readonly areSame: boolean;
}

const OWNER = { game_ids: 'game_id', platform_ids: 'platform_id' } as const;
/** The block of all ids, which are read in every run. */
const IDS_BLOCK = 'ids';

/** The rows of the tables that exist, in the order of the database. */
export async function readIdRows(
  readTable: ReadTable,
  hasTable: (table: IdTable) => boolean,
): Promise<IdRows> {
  const found: Partial<Record<IdTable, IdRow[]>> = {};
  for (const table of ['game_ids', 'platform_ids'] as const) {
    if (!hasTable(table)) continue;
    const rows: IdRow[] = [];
    found[table] = rows;
    await readTable(table, {
      columns: `${OWNER[table]}, source, value`,
      blockOf: () => IDS_BLOCK,
      take: ([owner = null, source = null, value = null]) => rows.push([owner, source, value]),
    });
  }
  return found;
}

/** Leaves out, and reports, what cannot be asked for. @param isPublished tells whether a game is published */
export function checkIds(
  rows: IdRows,
  report: Report,
  { numberOf }: Platforms,
  isPublished: (id: Id) => boolean,
): Omit<ExternalIds, 'areSame'> {
  const read = <T extends string | number>(table: IdTable, ownerOf: (id: Id) => T | undefined) => {
    const found = new Map<string, T[]>();
    for (const [owner, source, value] of rows[table] ?? []) {
      try {
        const column = OWNER[table];
        const published = ownerOf(checkId(owner, column));
        if (published === undefined) {
          const noun = column.replace('_id', '');
          throw new RowFault(`its ${noun} does not exist or is left out`, owner, {
            isConsequence: true,
          });
        }
        const key = externalIdKey(
          checkText(source, 'source'),
          checkText(String(value ?? ''), 'value'),
        );
        if (parseExternalId(key) === undefined)
          throw new RowFault('source has other characters than letters, digits, - and _', source);
        const owners = getOrAdd(found, key, () => []);
        // Two spellings of one id are one id.
        if (!owners.includes(published)) owners.push(published);
      } catch (error) {
        if (!(error instanceof RowFault)) throw error;
        report.leaveOut(table, IDS_BLOCK, owner, error);
      }
    }
    return found;
  };
  const ofPlatforms = read('platform_ids', (id) => numberOf.get(textOfId(id)));
  for (const numbers of ofPlatforms.values()) numbers.sort((a, b) => a - b);
  const ofGames = read('game_ids', (id) => (isPublished(id) ? textOfId(id) : undefined));
  return { ofGames, ofPlatforms };
}
