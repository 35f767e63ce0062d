/**
 * Compares two generations for a difference file. Only their record indexes are needed, which have the
 * id and the content hash of every record. Memory does not grow with the number of changes.
 */
import type { ContentHash } from '../../format/content-hash.ts';
import { compareNames, encodeChange, type RecordName } from '../../format/difference-file.ts';
import { compareIds, type Id, type IdColumns, idAt } from '../../format/index/ids.ts';
import {
  gameSlug,
  platformOf,
  type RecordColumns,
  type RecordIndex,
} from '../../format/index/record-index.ts';

/** @returns the lines of the difference, in order */
export function* compareGenerations(before: RecordIndex, after: RecordIndex): Generator<string> {
  yield* comparePlatforms(before, after);
  yield* compareGames(before, after);
  yield* compareCovers(before, after);
}

function* comparePlatforms(before: RecordIndex, after: RecordIndex): Generator<string> {
  const slugs = new Set([...before.platformBySlug.keys(), ...after.platformBySlug.keys()]);
  const hashIn = ({ platforms, platformBySlug }: RecordIndex, slug: string) =>
    platforms[platformBySlug.get(slug) ?? -1]?.hash;
  for (const slug of [...slugs].sort()) {
    const [old, fresh] = [hashIn(before, slug), hashIn(after, slug)];
    if (old?.[0] === fresh?.[0] && old?.[1] === fresh?.[1]) continue;
    yield encodeChange({ kind: 'platform', id: slug, path: `/platforms/${slug}` }, old, fresh);
  }
}

function* compareGames(before: RecordIndex, after: RecordIndex): Generator<string> {
  const nameIn = (index: RecordIndex, id: string, game: number): RecordName => {
    const { slug } = index.platforms[platformOf(index.platforms, 'first_game', game)];
    return { kind: 'game', id, path: `/games/${slug}/${gameSlug(index, game)}` };
  };
  for (const { id, old, fresh } of pairById(before.games, after.games)) {
    const text = textOf(id);
    const oldName = old === undefined ? undefined : nameIn(before, text, old);
    const freshName = fresh === undefined ? undefined : nameIn(after, text, fresh);
    const oldHash = hashAt(before.games, old);
    const freshHash = hashAt(after.games, fresh);
    if (oldName !== undefined && oldName.path === freshName?.path) {
      yield encodeChange(oldName, oldHash, freshHash);
      continue;
    }
    // The path has changed, or only one generation has the game.
    const lines: { name: RecordName; line: string }[] = [];
    if (oldName !== undefined) {
      lines.push({ name: oldName, line: encodeChange(oldName, oldHash, undefined) });
    }
    if (freshName !== undefined) {
      lines.push({ name: freshName, line: encodeChange(freshName, undefined, freshHash) });
    }
    for (const { line } of lines.sort((a, b) => compareNames(a.name, b.name))) yield line;
  }
}

function* compareCovers({ covers: before }: RecordIndex, { covers: after }: RecordIndex) {
  for (const { id, old, fresh } of pairById(before, after)) {
    const text = textOf(id);
    const name: RecordName = { kind: 'cover', id: text, path: `/covers/${text}` };
    yield encodeChange(name, hashAt(before, old), hashAt(after, fresh));
  }
}

/** A record whose content differs: its number in each generation, undefined where it is not. */
interface Pair {
  readonly id: Id;
  readonly old: number | undefined;
  readonly fresh: number | undefined;
}

/** The records that differ, in ascending order of their ids. */
function* pairById(
  before: RecordColumns & IdColumns,
  after: RecordColumns & IdColumns,
): Generator<Pair> {
  const [endBefore, endAfter] = [before.numberOfId.length, after.numberOfId.length];
  for (let i = 0, j = 0; i < endBefore || j < endAfter; ) {
    const order =
      i === endBefore ? 1 : j === endAfter ? -1 : compareIds(idAt(before, i), idAt(after, j));
    const id = order <= 0 ? idAt(before, i) : idAt(after, j);
    const old = order <= 0 ? before.numberOfId[i++] : undefined;
    const fresh = order >= 0 ? after.numberOfId[j++] : undefined;
    if (old !== undefined && fresh !== undefined && haveSameHash(before, old, after, fresh)) {
      continue;
    }
    yield { id, old, fresh };
  }
}

function haveSameHash(a: RecordColumns, ofA: number, b: RecordColumns, ofB: number): boolean {
  return a.hash[ofA * 2] === b.hash[ofB * 2] && a.hash[ofA * 2 + 1] === b.hash[ofB * 2 + 1];
}

function hashAt({ hash }: RecordColumns, number: number | undefined): ContentHash | undefined {
  return number === undefined ? undefined : [hash[number * 2], hash[number * 2 + 1]];
}

/** An id in decimal digits. */
function textOf([high, low]: Id): string {
  if (high < 2 ** 21) return String(high * 2 ** 32 + low);
  return String((BigInt(high) << 32n) | BigInt(low));
}
