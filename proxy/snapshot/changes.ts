/**
 * The list of what differs between an earlier generation and the one that is served, which knows since when each
 * of its records has been as it is. It takes the id of the earlier one, and returns a page. A list is one pass over
 * columns: its work is bounded by the number of records, whatever has changed.
 */
import { firstIndex, sharedZeros } from '../../lib/columns/arrays.ts';
import {
  compareIds,
  type Id,
  type IdColumns,
  idAt,
  splitId,
  textOfId,
} from '../../lib/format/index/ids.ts';
import { pathOfGame, type RecordIndex, sortedSlugs } from '../../lib/format/index/record-index.ts';
import {
  encodeName,
  KINDS,
  type Kind,
  type RecordName,
  type RemovedFile,
  type RemovedRecord,
} from '../../lib/format/index/removed.ts';
import type { Since } from '../../lib/format/index/since.ts';
import { sequenceOf } from '../../lib/format/layout.ts';

/** The removed records of one kind in the order of ids, in memory that threads share: none of them parses the file. */
interface RemovedColumns {
  /** The position that its id has, or would have, among the records that are there. */
  readonly position: Uint32Array;
  /** 1 if the record is there again, under the same path. */
  readonly isBack: Uint8Array;
  readonly added: Uint32Array;
  readonly removed: Uint32Array;
  /** Where the name of each one starts in `names`, and at the end where the last one ends. */
  readonly nameStart: Uint32Array;
  readonly names: Uint8Array;
}

export interface PackedRemoved extends Readonly<Record<Kind, RemovedColumns>> {
  /** The ids of the last generations before this one, the oldest first. */
  readonly recentIds: readonly string[];
}

const MOST_RECENT = 4;

/** Prepares what was removed for {@link listChanges}. */
export function packRemoved(
  { generations, removed }: RemovedFile,
  index: RecordIndex,
): PackedRemoved {
  const pack = (kind: Kind, numbered: NumberedRecords) =>
    packRecords(
      removed.filter((record) => record.kind === kind),
      numbered,
    );
  const { platform, game, cover } = numberRecords(index);
  return {
    platform: pack('platform', platform),
    game: pack('game', game),
    cover: pack('cover', cover),
    recentIds: generations.slice(-MOST_RECENT).map(({ id }) => id),
  };
}

function packRecords(
  records: readonly RemovedRecord[],
  { count, find, nameAt }: NumberedRecords,
): RemovedColumns {
  const names = records.map(encodeName);
  const columns = {
    position: sharedZeros(Uint32Array, records.length),
    isBack: sharedZeros(Uint8Array, records.length),
    added: sharedZeros(Uint32Array, records.length),
    removed: sharedZeros(Uint32Array, records.length),
    nameStart: sharedZeros(Uint32Array, records.length + 1),
    names: sharedZeros(Uint8Array, names.join('').length),
  };
  let end = 0;
  for (const [at, { id, added, removed }] of records.entries()) {
    const position = find(id);
    columns.position[at] = position;
    columns.isBack[at] = position < count && encodeName(nameAt(position)) === names[at] ? 1 : 0;
    columns.added[at] = added;
    columns.removed[at] = removed;
    columns.names.set(Buffer.from(names[at], 'latin1'), end);
    end += names[at].length;
    columns.nameStart[at + 1] = end;
  }
  return columns;
}

/** The records of one kind, by their positions in the order of ids. */
interface NumberedRecords {
  readonly count: number;
  /** The position of the first record whose id is not below this one. */
  find(id: string): number;
  nameAt(position: number): RecordName;
}

function numberRecords(index: RecordIndex): Readonly<Record<Kind, NumberedRecords>> {
  const slugs = sortedSlugs(index);
  const { games, covers } = index;
  const findIn = (columns: IdColumns) => (text: string) => {
    const id: Id = splitId(text) ?? [0, 0];
    const isFrom = (at: number) => compareIds(idAt(columns, at), id) >= 0;
    return firstIndex(0, columns.numberOfId.length, isFrom);
  };
  return {
    platform: {
      count: slugs.length,
      find: (slug) => firstIndex(0, slugs.length, (at) => slugs[at] >= slug),
      nameAt: (at) => ({ kind: 'platform', id: slugs[at], path: `/platforms/${slugs[at]}` }),
    },
    game: {
      count: games.numberOfId.length,
      find: findIn(games),
      nameAt: (at) => ({
        kind: 'game',
        id: textOfId(idAt(games, at)),
        path: pathOfGame(index, games.numberOfId[at]),
      }),
    },
    cover: {
      count: covers.numberOfId.length,
      find: findIn(covers),
      nameAt(at) {
        const id = textOfId(idAt(covers, at));
        return { kind: 'cover', id, path: `/covers/${id}` };
      },
    },
  };
}

/** What a list is made from. */
export interface ChangeSource {
  /** The id of the generation. */
  readonly id: string;
  readonly records: RecordIndex;
  readonly since: Since;
  readonly removed: PackedRemoved;
  /** The content of `removed.json`. */
  readonly removedFile: Uint8Array;
}

export interface ChangePage {
  /** The length of the whole list. */
  readonly total: number;
  /** The changes of the page, each as in the response. */
  readonly elements: readonly string[];
}

/**
 * The changes since a generation by kind and id, from the index `first` on, and at most `count` of them.
 * @param from its id @returns undefined if it is not known
 */
export function listChanges(
  { id, records, since, removed, removedFile }: ChangeSource,
  from: string,
  first: number,
  count: number,
): ChangePage | undefined {
  // Clients ask for this most.
  if (from === id) return { total: 0, elements: [] };
  const bytes = Buffer.from(removedFile.buffer, removedFile.byteOffset, removedFile.byteLength);
  // At the start of a line: a platform may have this id as its slug.
  if (!bytes.includes(`\n{"id":"${from}",`, 0, 'latin1')) return undefined;
  const sequence = sequenceOf(from);
  const numbered = numberRecords(records);
  const elements: string[] = [];
  let total = 0;
  const isShown = () => total >= first && elements.length < count;
  for (const kind of KINDS) {
    const { added, changed } = since[`${kind}s`];
    const gone = removed[kind];
    const end = gone.position.length;
    /** The position of the last record that has come back. */
    let back = -1;
    for (let at = 0, next = 0; next <= end; next++) {
      // In most rounds of this loop, nothing has changed: it does as little as possible.
      for (const stop = next < end ? gone.position[next] : added.length; at < stop; at++) {
        if (changed[at] <= sequence) continue;
        if (isShown()) {
          const change = added[at] <= sequence || at === back ? 'changed' : 'added';
          elements.push(`{"change":"${change}",${encodeName(numbered[kind].nameAt(at))}}`);
        }
        total++;
      }
      const wasThere = gone.added[next] <= sequence && sequence < gone.removed[next];
      if (!wasThere) continue;
      if (gone.isBack[next] === 1) back = gone.position[next];
      else {
        if (isShown()) elements.push(`{"change":"removed",${removedName(gone, next)}}`);
        total++;
      }
    }
  }
  return { total, elements };
}

function removedName({ names, nameStart }: RemovedColumns, at: number): string {
  return Buffer.from(names.subarray(nameStart[at], nameStart[at + 1])).toString('latin1');
}
