/**
 * Compares two generations. Only their record indexes are needed, which have the id and the content hash
 * of every record. Memory does not grow with the number of changes.
 */
import { type ContentHash, hexOf } from '../../format/content-hash.ts';
import type { Change } from '../../format/difference-file.ts';
import { areEqual } from '../../format/index/compare-slices.ts';
import { compareIdsAt, type IdColumns, idAt, textOfId } from '../../format/index/ids.ts';
import {
  gameSlug,
  platformOf,
  type RecordColumns,
  type RecordIndex,
} from '../../format/index/record-index.ts';

/** @returns the changes, in the order of a difference file */
export function* compareGenerations(before: RecordIndex, after: RecordIndex): Generator<Change> {
  yield* comparePlatforms(before, after);
  yield* compareGames(before, after);
  yield* compareCovers(before, after);
}

function* comparePlatforms(before: RecordIndex, after: RecordIndex): Generator<Change> {
  const slugs = new Set([...before.platformBySlug.keys(), ...after.platformBySlug.keys()]);
  const hashIn = ({ platforms, platformBySlug }: RecordIndex, slug: string) =>
    textOfHash(platforms[platformBySlug.get(slug) ?? -1]?.hash);
  for (const slug of [...slugs].sort()) {
    const hashes = { before: hashIn(before, slug), after: hashIn(after, slug) };
    if (hashes.before === hashes.after) continue;
    yield { kind: 'platform', id: slug, path: `/platforms/${slug}`, ...hashes };
  }
}

function* compareGames(before: RecordIndex, after: RecordIndex): Generator<Change> {
  for (const { id, old, fresh } of pairById(before.games, after.games)) {
    const [oldPath, freshPath] = [gamePath(before, old), gamePath(after, fresh)];
    const oldHash = hashAt(before.games, old);
    const freshHash = hashAt(after.games, fresh);
    const paths = [oldPath, freshPath].filter((path) => path !== undefined);
    // Two, if the path has changed.
    for (const path of [...new Set(paths)].sort()) {
      yield {
        kind: 'game',
        id,
        path,
        before: path === oldPath ? oldHash : null,
        after: path === freshPath ? freshHash : null,
      };
    }
  }
}

function gamePath(index: RecordIndex, game: number | undefined): string | undefined {
  if (game === undefined) return undefined;
  const { slug } = index.platforms[platformOf(index.platforms, 'first_game', game)];
  return `/games/${slug}/${gameSlug(index, game)}`;
}

function* compareCovers(
  { covers: before }: RecordIndex,
  { covers: after }: RecordIndex,
): Generator<Change> {
  for (const { id, old, fresh } of pairById(before, after)) {
    const hashes = { before: hashAt(before, old), after: hashAt(after, fresh) };
    yield { kind: 'cover', id, path: `/covers/${id}`, ...hashes };
  }
}

/** The ids of the covers that one generation has and another one does not have, ascending. */
export function* coversOnlyIn(one: RecordIndex, other: RecordIndex): Generator<string> {
  for (const { id, fresh } of pairById(one.covers, other.covers)) {
    if (fresh === undefined) yield id;
  }
}

/** A record whose content differs: its number in each generation, undefined where it is not. */
interface Pair {
  readonly id: string;
  readonly old: number | undefined;
  readonly fresh: number | undefined;
}

/** The records that differ, in ascending order of their ids. */
function* pairById(
  before: RecordColumns & IdColumns,
  after: RecordColumns & IdColumns,
): Generator<Pair> {
  if (areSame(before, after)) return;
  const [endBefore, endAfter] = [before.numberOfId.length, after.numberOfId.length];
  for (let i = 0, j = 0; i < endBefore || j < endAfter; ) {
    const order = i === endBefore ? 1 : j === endAfter ? -1 : compareIdsAt(before, i, after, j);
    const old = order <= 0 ? before.numberOfId[i] : undefined;
    const fresh = order >= 0 ? after.numberOfId[j] : undefined;
    const isSame =
      old !== undefined && fresh !== undefined && haveSameHash(before, old, after, fresh);
    if (!isSame) {
      const id = textOfId(order <= 0 ? idAt(before, i) : idAt(after, j));
      yield { id, old, fresh };
    }
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
}

/**
 * Whether all records are the same, with the same numbers. After most changes of a game, this is true of
 * the covers. It takes 1 ms for 270,000 of them, and comparing one by one 40 ms.
 */
function areSame(a: RecordColumns & IdColumns, b: RecordColumns & IdColumns): boolean {
  const columns = ['hash', 'numberOfId', 'idLow', 'idHigh'] as const;
  return columns.every((name) => areEqual(a[name], b[name]));
}

function haveSameHash(a: RecordColumns, ofA: number, b: RecordColumns, ofB: number): boolean {
  return a.hash[ofA * 2] === b.hash[ofB * 2] && a.hash[ofA * 2 + 1] === b.hash[ofB * 2 + 1];
}

function hashAt({ hash }: RecordColumns, number: number | undefined): string | null {
  return number === undefined ? null : hexOf([hash[number * 2], hash[number * 2 + 1]]);
}

function textOfHash(hash: ContentHash | undefined): string | null {
  return hash === undefined ? null : hexOf(hash);
}
