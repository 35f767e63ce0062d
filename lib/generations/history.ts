/**
 * What a generation knows of those before it: since when each of its records has been as it is, what was removed
 * recently, and which generations these were (`index/since.bin`, `removed.json`). It takes the new files and the
 * generation that they replace, and depends on nothing else: neither on the clock nor on how the files were made.
 *
 * Invariant: from any generation that `removed.json` names, everything that differs in the new one is known.
 */
import { createHash } from 'node:crypto';
import path from 'node:path';
import { encodeIndex } from '../format/index/index-file.ts';
import {
  compareRemoved,
  encodeRemovedFile,
  type PastGeneration,
  parseRemovedFile,
  type RemovedFile,
  type RemovedRecord,
} from '../format/index/removed.ts';
import {
  checkSince,
  openSince,
  type Since,
  type SinceColumns,
  sinceGeneration,
} from '../format/index/since.ts';
import { HISTORY_FILES, REMOVED, SINCE_INDEX, sequenceOf } from '../format/layout.ts';
import {
  contentHash,
  type Manifest,
  type ManifestContent,
  type ManifestFile,
} from '../format/manifest.ts';
import { type Compared, compareGenerations, openCompared } from './compare.ts';
import { readChecked } from './files/checked-files.ts';
import { writeNewFile } from './files/file-modes.ts';
import { filesIn, readManifest } from './generations.ts';

const DAY_MS = 24 * 60 * 60_000;
/**
 * How long clients may ask what has changed since a generation that was replaced. Measured between the times at
 * which generations were published, of which no two count for more than a day: so a clock that was wrong once costs
 * a day, and a catalogue that rarely changes keeps more.
 */
const KEPT_MS = 30 * DAY_MS;
/** One every 26 seconds for 30 days. */
const MOST_GENERATIONS = 100_000;
const MOST_REMOVED = 500_000;

interface History extends RemovedFile {
  readonly since: Since;
}

interface HistorySteps {
  /** Reads a file of the new or the current generation, and checks it against its manifest. */
  readonly read?: typeof readChecked | undefined;
  /** Called if clients that know an older generation have to read the catalogue again. */
  readonly warn: (text: string) => void;
}

/** The content without what depends on the generations before. */
export function withoutHistory<C extends ManifestContent>(content: C): C {
  const files = content.files.filter((file) => !HISTORY_FILES.includes(file.path));
  return { ...content, files };
}

/**
 * Writes the history into the folder of a new generation. If the current generation is damaged or of another format
 * version, the history begins again: that must not stop publishing.
 * @param dir the folder, in which all other files are written
 * @param content of its manifest, without the history @param sequence its sequence
 * @param current the folder of the generation that it replaces; undefined if there is none
 */
export function writeHistory(
  dir: string,
  content: ManifestContent,
  sequence: number,
  current: string | undefined,
  { read = readChecked, warn }: HistorySteps,
): ManifestFile[] {
  const compared = openCompared(dir, read, content);
  const begin = (): History => ({
    since: sinceGeneration(compared.index, sequence),
    generations: [],
    removed: [],
  });
  let history: History;
  try {
    history =
      current === undefined ? begin() : continueHistory(current, content, compared, sequence, read);
  } catch (error) {
    warn(
      `The changes since ${path.basename(String(current))} are not known to clients, which have to read the catalogue again: ${(error as Error).message}`,
    );
    history = begin();
  }
  const { since, ...removed } = history;
  return [
    writeFile(dir, SINCE_INDEX, [...encodeIndex(since)]),
    writeFile(dir, REMOVED, [Buffer.from(encodeRemovedFile(removed))]),
  ];
}

function writeFile(dir: string, name: string, content: readonly Uint8Array[]): ManifestFile {
  try {
    writeNewFile(path.join(dir, name), content);
  } catch (cause) {
    throw new Error(`write ${name}: ${(cause as Error).message}`, { cause });
  }
  const sha256 = createHash('sha256');
  let size = 0;
  for (const piece of content) {
    sha256.update(piece);
    size += piece.length;
  }
  return { path: name, size, sha256: sha256.digest('hex') };
}

/** @returns the history of a generation @throws Error that names what is damaged */
export function readHistory(
  dir: string,
  index: Compared['index'],
  manifest: Manifest,
  read = readChecked,
): History {
  const fileOf = filesIn(manifest);
  const contentOf = (name: string) => read(dir, fileOf(name));
  const since = openSince(contentOf, index);
  checkSince(since, manifest.sequence);
  return { since, ...parseRemovedFile(contentOf(REMOVED).toString('latin1'), manifest.sequence) };
}

/** When a generation was published: it always has another `removed.json` than the one before. */
export function publishedAt({ files }: Manifest): string {
  return files.find((file) => file.path === REMOVED)?.changed_at ?? '';
}

/** @throws Error if the current generation is damaged or of another format version */
function continueHistory(
  current: string,
  content: ManifestContent,
  compared: Compared,
  sequence: number,
  read: typeof readChecked,
): History {
  const manifest = readManifest(current);
  // The same content is published again if a file was damaged.
  const isSame = contentHash(withoutHistory(manifest)) === contentHash(content);
  const before = isSame ? compared : openCompared(current, read, manifest);
  const history = readHistory(current, before.index, manifest, read);
  const { since, removed } = continueSince(before, history.since, compared, sequence);
  const past = { id: manifest.id, published_at: publishedAt(manifest) };
  const all = {
    generations: [...history.generations, past],
    removed: [...history.removed, ...removed].sort(compareRemoved),
  };
  return { since, ...forgetOld(all) };
}

/** @returns since when the records of the new generation are as they are, and which ones it has no longer */
function continueSince(before: Compared, since: Since, after: Compared, sequence: number) {
  const next = sinceGeneration(after.index, sequence);
  const removed: RemovedRecord[] = [];
  const copies = {
    platform: copyEqual(since.platforms, next.platforms),
    game: copyEqual(since.games, next.games),
    cover: copyEqual(since.covers, next.covers),
  };
  for (const { kind, id, path, before: from, after: to } of compareGenerations(before, after)) {
    const added = copies[kind].pass(from, to);
    if (added === undefined || to !== undefined) continue;
    removed.push({ kind, id, path, added, removed: sequence });
  }
  for (const { end } of Object.values(copies)) end();
  return { since: next, removed };
}

/** Copies the values of the records that are the same in two generations, as runs between those that differ. */
function copyEqual(old: SinceColumns, next: SinceColumns) {
  let [read, written] = [0, 0];
  const copy = (count: number) => {
    next.added.set(old.added.subarray(read, read + count), written);
    next.changed.set(old.changed.subarray(read, read + count), written);
    read += count;
    written += count;
  };
  return {
    /**
     * Copies up to a record that differs, given by its positions in both generations.
     * @returns when it had appeared; undefined if it is new
     */
    pass(before: number | undefined, after: number | undefined): number | undefined {
      if (before !== undefined) copy(before - read);
      else if (after !== undefined) copy(after - written);
      const added = before === undefined ? undefined : old.added[read++];
      if (after !== undefined) {
        if (added !== undefined) next.added[written] = added;
        written++;
      }
      return added;
    },
    end: () => copy(old.added.length - read),
  };
}

/** Forgets the generations that are too old, or too many, and what was removed before the oldest one that is left. */
export function forgetOld(
  { generations, removed }: RemovedFile,
  most = { generations: MOST_GENERATIONS, removed: MOST_REMOVED },
): RemovedFile {
  const last = removed.map((record) => record.removed).sort((a, b) => b - a)[most.removed] ?? 0;
  const first = Math.max(firstKept(generations), generations.length - most.generations);
  const kept = generations.slice(first).filter(({ id }) => sequenceOf(id) >= last);
  const oldest = kept.length === 0 ? Number.POSITIVE_INFINITY : sequenceOf(kept[0].id);
  return { generations: kept, removed: removed.filter((record) => record.removed > oldest) };
}

/** The index of the oldest generation that is still remembered. */
function firstKept(generations: readonly PastGeneration[]): number {
  const times = generations.map(({ published_at }) => Date.parse(published_at));
  let first = Math.max(generations.length - 1, 0);
  // The last one is replaced now. Each other one was when the next one was published.
  for (let age = 0; first > 0; first--) {
    const gap = first + 1 < times.length ? times[first + 1] - times[first] : 0;
    age += Math.min(Math.max(gap, 0), DAY_MS);
    if (age > KEPT_MS) break;
  }
  return first;
}
