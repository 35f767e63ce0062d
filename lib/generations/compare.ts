/**
 * Compares two generations. Only their record indexes are needed, which have the id and the content hash
 * of every record. Memory does not grow with the number of changes.
 */

import type { Lookup } from '../columns/numbers.ts';
import { hexOf } from '../format/content-hash.ts';
import type { Change } from '../format/difference-file.ts';
import { compareIdsAt, type IdColumns, idAt, textOfId } from '../format/index/ids.ts';
import {
  findPlatform,
  gameSlug,
  platformOf,
  type RecordColumns,
  type RecordIndex,
} from '../format/index/record-index.ts';

type Columns = RecordColumns & IdColumns;

/** The state of a record in one of the generations. */
interface State {
  readonly path: string;
  readonly hash: string;
}

/** @returns the changes by kind and id. A game whose path has changed is removed, then added. */
export function* compareGenerations(before: RecordIndex, after: RecordIndex): Generator<Change> {
  const slugs = new Set([...before.platformBySlug.keys(), ...after.platformBySlug.keys()]);
  for (const slug of [...slugs].sort()) {
    yield* changesOf('platform', slug, platformState(before, slug), platformState(after, slug));
  }
  for (const { id, old, fresh } of pairById(before.games, after.games)) {
    yield* changesOf('game', id, gameState(before, old), gameState(after, fresh));
  }
  for (const { id, old, fresh } of pairById(before.covers, after.covers)) {
    const path = `/covers/${id}`;
    const [from, to] = [stateAt(before.covers, old, path), stateAt(after.covers, fresh, path)];
    yield* changesOf('cover', id, from, to);
  }
}

/** All records of a generation, as if each was added. */
export function recordsOf(index: RecordIndex): Generator<Change> {
  const numberOfId = new Uint32Array() as Lookup<number, never>;
  const games = { ...index.games, numberOfId };
  const covers = { ...index.covers, numberOfId };
  return compareGenerations({ platforms: [], platformBySlug: new Map(), games, covers }, index);
}

function* changesOf(
  kind: Change['kind'],
  id: string,
  before: State | undefined,
  after: State | undefined,
): Generator<Change> {
  if (before !== undefined && after?.path === before.path) {
    if (after.hash === before.hash) return;
    yield { kind, id, path: before.path, before: before.hash, after: after.hash };
    return;
  }
  if (before !== undefined) yield { kind, id, path: before.path, before: before.hash, after: null };
  if (after !== undefined) yield { kind, id, path: after.path, before: null, after: after.hash };
}

function platformState(index: RecordIndex, slug: string) {
  const platform = findPlatform(index, slug);
  return platform && { path: `/platforms/${slug}`, hash: hexOf(platform.hash) };
}

/** The path and content of a game; undefined if there is none. */
export function gameState(index: RecordIndex, game: number | undefined): State | undefined {
  if (game === undefined) return undefined;
  const { slug } = index.platforms[platformOf(index.platforms, 'firstGame', game)];
  return stateAt(index.games, game, `/games/${slug}/${gameSlug(index, game)}`);
}

function stateAt({ hash }: Columns, number: number | undefined, path: string): State | undefined {
  if (number === undefined) return undefined;
  return { path, hash: hexOf([hash[number * 2], hash[number * 2 + 1]]) };
}

/** A record whose content differs: its number in each generation, undefined where it is not. */
interface Pair {
  readonly id: string;
  readonly old: number | undefined;
  readonly fresh: number | undefined;
}

/** The records that differ, in ascending order of their ids. */
function* pairById(before: Columns, after: Columns): Generator<Pair> {
  const [endBefore, endAfter] = [before.numberOfId.length, after.numberOfId.length];
  for (let i = 0, j = 0; i < endBefore || j < endAfter; ) {
    const order = i === endBefore ? 1 : j === endAfter ? -1 : compareIdsAt(before, i, after, j);
    const old = order <= 0 ? before.numberOfId[i] : undefined;
    const fresh = order >= 0 ? after.numberOfId[j] : undefined;
    if (old === undefined || fresh === undefined || !haveSameHash(before, old, after, fresh)) {
      yield { id: textOfId(order <= 0 ? idAt(before, i) : idAt(after, j)), old, fresh };
    }
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
}

function haveSameHash(a: Columns, ofA: number, b: Columns, ofB: number): boolean {
  return a.hash[ofA * 2] === b.hash[ofB * 2] && a.hash[ofA * 2 + 1] === b.hash[ofB * 2 + 1];
}
