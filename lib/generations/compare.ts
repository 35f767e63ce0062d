/**
 * Compares two generations. Only their record indexes are needed, which have the id and the content hash
 * of every record, and the alternative titles of games. Memory does not grow with the number of changes.
 */
import { compareIdsAt, type IdColumns, idAt, textOfId } from '../format/index/ids.ts';
import {
  openRecordIndex,
  pathOfGame,
  type RecordColumns,
  type RecordIndex,
  sortedSlugs,
} from '../format/index/record-index.ts';
import type { RecordName } from '../format/index/removed.ts';
import { openTitles, type TitleColumns } from '../format/index/titles.ts';
import type { ManifestContent } from '../format/manifest.ts';
import { readChecked } from './files/checked-files.ts';
import { filesIn, readManifest } from './generations.ts';

/** What is compared of a generation. */
export interface Compared {
  readonly index: RecordIndex;
  readonly titles: TitleColumns;
}

/**
 * Opens a generation whose values were checked when it was published, or are checked before it is.
 * @param read reads a file of it and checks it against the manifest @param content of its manifest
 * @throws Error if the generation is damaged or of another version
 */
export function openCompared(
  dir: string,
  read = readChecked,
  content: ManifestContent = readManifest(dir),
): Compared {
  const fileOf = filesIn(content);
  const contentOf = (name: string) => read(dir, fileOf(name));
  return { index: openRecordIndex(contentOf), titles: openTitles(contentOf) };
}

/**
 * A record that differs: its position among those of its kind in each generation, in the order of ids (of
 * platforms, slugs); undefined where it is not. A game whose path has changed is two: it is removed, then added.
 */
export interface Change extends RecordName {
  readonly before: number | undefined;
  readonly after: number | undefined;
}

/** @returns the changes by kind and id */
export function* compareGenerations(before: Compared, after: Compared): Generator<Change> {
  yield* comparePlatforms(before.index, after.index);
  const [titles, newTitles] = [titlesByGame(before), titlesByGame(after)];
  const haveSameTitles = (old: number, fresh: number) => titles(old) === newTitles(fresh);
  for (const pair of pairById(before.index.games, after.index.games, haveSameTitles)) {
    const [from, to] = [pathAt(before.index, pair.before), pathAt(after.index, pair.after)];
    if (from === to && from !== undefined) {
      yield { kind: 'game', path: from, ...pair };
      continue;
    }
    if (from !== undefined) yield { kind: 'game', path: from, ...pair, after: undefined };
    if (to !== undefined) yield { kind: 'game', path: to, ...pair, before: undefined };
  }
  for (const pair of pairById(before.index.covers, after.index.covers, () => true)) {
    yield { kind: 'cover', path: `/covers/${pair.id}`, ...pair };
  }
}

function* comparePlatforms(before: RecordIndex, after: RecordIndex): Generator<Change> {
  const [old, fresh] = [before, after].map(
    (index) => new Map(sortedSlugs(index).map((slug, position) => [slug, position])),
  );
  const recordOf = ({ platforms, platformBySlug }: RecordIndex, slug: string) =>
    platforms[platformBySlug.get(slug) ?? -1]?.record;
  for (const slug of [...new Set([...old.keys(), ...fresh.keys()])].sort()) {
    const [from, to] = [old.get(slug), fresh.get(slug)];
    const isSame =
      from !== undefined &&
      to !== undefined &&
      recordOf(before, slug).equals(recordOf(after, slug));
    if (isSame) continue;
    yield { kind: 'platform', id: slug, path: `/platforms/${slug}`, before: from, after: to };
  }
}

/** The path of the game at a position in the order of ids. */
function pathAt(index: RecordIndex, position: number | undefined): string | undefined {
  return position === undefined ? undefined : pathOfGame(index, index.games.numberOfId[position]);
}

/** @returns a function that returns the JSON of the alternative titles of a game */
function titlesByGame({ titles }: Compared): (game: number) => string | undefined {
  const { game, start, json } = titles;
  const bytes = Buffer.from(json.buffer, json.byteOffset, json.byteLength);
  const texts = new Map<number, string>();
  game.forEach((number, at) => {
    texts.set(number, bytes.toString('latin1', start[at], start[at + 1]));
  });
  return (number) => texts.get(number);
}

type ComparedColumns = RecordColumns & IdColumns;
type Pair = Pick<Change, 'id' | 'before' | 'after'>;

/**
 * The records that differ, in ascending order of their ids.
 * @param isSame whether two records with the same content, given by their numbers, are the same
 */
function* pairById(
  before: ComparedColumns,
  after: ComparedColumns,
  isSame: (old: number, fresh: number) => boolean,
): Generator<Pair> {
  const [endBefore, endAfter] = [before.numberOfId.length, after.numberOfId.length];
  for (let i = 0, j = 0; i < endBefore || j < endAfter; ) {
    const order = i === endBefore ? 1 : j === endAfter ? -1 : compareIdsAt(before, i, after, j);
    const [old, fresh] = [before.numberOfId[i], after.numberOfId[j]];
    if (order !== 0 || !haveSameHash(before, old, after, fresh) || !isSame(old, fresh)) {
      yield {
        id: textOfId(order <= 0 ? idAt(before, i) : idAt(after, j)),
        before: order <= 0 ? i : undefined,
        after: order >= 0 ? j : undefined,
      };
    }
    if (order <= 0) i++;
    if (order >= 0) j++;
  }
}

function haveSameHash(a: ComparedColumns, ofA: number, b: ComparedColumns, ofB: number): boolean {
  return a.hash[ofA * 2] === b.hash[ofB * 2] && a.hash[ofA * 2 + 1] === b.hash[ofB * 2 + 1];
}
