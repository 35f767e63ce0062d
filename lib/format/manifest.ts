/**
 * The manifest: the last file written into a generation and the first one read. It lists every other file
 * with its size and SHA-256, so that a reader refuses an incomplete generation.
 *
 * It contains nothing about the run that wrote it, except the versions of ICU and Unicode, and when files changed.
 * With the same versions, the same rows and settings give the same content.
 */
import { hash } from 'node:crypto';
import { parseObject, readMembers, shown } from './json/parse-file.ts';
import {
  isCount,
  isSequence,
  isSha256,
  isString,
  isTime,
  listOf,
  type Members,
  orAbsent,
  orNull,
  type TypeGuard,
  withMembers,
} from './json/values.ts';
import {
  FIXED_FILES,
  FORMAT_VERSION,
  generationId,
  isGenerationId,
  isPack,
  isTitleList,
  MANIFEST,
} from './layout.ts';

const FILE = {
  /** Relative to the generation's folder. */
  path: isFilePath,
  /** In bytes. */
  size: isCount,
  /** The SHA-256 of the whole content, 64 hex digits. */
  sha256: isSha256,
};
const DATED_FILE = {
  ...FILE,
  /** When these bytes replaced others under this path, or the path was new: RFC 3339 UTC, whole seconds. */
  changed_at: isTime,
};
const COUNTS = {
  platforms: isCount,
  games: isCount,
  /** Approved covers. */
  covers: isCount,
  cover_files: isCount,
  /** Rows that were left out. Only their number: the rows are not public. */
  left_out: isCount,
};
const SETTINGS = { site_url: isString, site_language: isString, files_url: isString };
/** Absent if they are the usual ones. */
const OWN_SETTINGS = {
  /** Templates of the addresses of games and platforms. */
  game_url: orAbsent(isString),
  platform_url: orAbsent(isString),
  /** The types of covers that are fronts, in any case, the best first. */
  front_types: orAbsent(listOf(isString)),
};
/** Settings that affect the content of a generation, or what is done with it. */
export type Settings = Members<typeof SETTINGS> & Partial<Members<typeof OWN_SETTINGS>>;
const MEMBERS = {
  format_version: isCount,
  id: isGenerationId,
  /** 1 for the first generation in a snapshots folder, then one more than the highest in it. */
  sequence: isSequence,
  /** The latest time at which a published cover was approved: RFC 3339 UTC, or null. */
  latest_cover_at: orNull(isString),
  counts: withMembers(COUNTS),
  settings: withMembers({ ...SETTINGS, ...OWN_SETTINGS }) as TypeGuard<Settings>,
  /** The version of ICU, whose collation sorted the titles; absent in the golden files of the tests, which any Node must read. */
  icu_version: orAbsent(isString),
  /** The version of Unicode that this ICU supports; absent like the one of ICU. */
  unicode_version: orAbsent(isString),
  /** Sorted by path. */
  files: listOf(withMembers(DATED_FILE)),
};

export type ManifestFile = Members<typeof FILE>;
type DatedFile = Members<typeof DATED_FILE>;
export type Counts = Members<typeof COUNTS>;
export type Manifest = Members<typeof MEMBERS>;

/** A manifest without the members that {@link makeManifest} adds. */
export type ManifestContent = Omit<
  Manifest,
  'format_version' | 'id' | 'sequence' | 'files' | keyof typeof COLLATION_VERSIONS
> &
  Partial<Omit<Manifest, 'files'>> & { readonly files: readonly ManifestFile[] };

/** The versions in every manifest that this Node writes. */
export const COLLATION_VERSIONS = {
  icu_version: process.versions.icu ?? 'none',
  unicode_version: process.versions.unicode ?? 'none',
};

/**
 * A warning if the titles of a generation were sorted with another version of ICU or Unicode than
 * this Node has. Undefined if the versions are the same or the manifest does not name them.
 */
export function findOtherCollation({
  icu_version,
  unicode_version,
}: ManifestContent): string | undefined {
  const { icu_version: icu, unicode_version: unicode } = COLLATION_VERSIONS;
  if ((icu_version ?? icu) === icu && (unicode_version ?? unicode) === unicode) return undefined;
  return (
    `Titles were sorted with ICU ${icu_version ?? 'unknown'} (Unicode ${unicode_version ?? 'unknown'}), and this Node has ` +
    `ICU ${icu} (Unicode ${unicode}): run the generator and the proxy on the same Node, and generate again.`
  );
}

/**
 * The largest manifest that is read, in bytes: enough for two thousand platforms. One of another machine
 * may be hostile, and its objects may take 50 times its size in memory.
 */
export const LARGEST_MANIFEST = 1280 * 1024;

/**
 * The SHA-256, in hex, that identifies the content of a generation. Two generations with the same hash
 * serve the same bytes, even if their sequence numbers differ.
 */
export function contentHash(content: ManifestContent): string {
  const { latest_cover_at, counts, settings } = content;
  const files = sortedFiles(content.files);
  return hash('sha256', JSON.stringify([FORMAT_VERSION, latest_cover_at, counts, settings, files]));
}

/**
 * The manifest of a generation with a content and a sequence number.
 * @param before the files of the generation that it replaces @param now in milliseconds since 1970
 */
export function makeManifest(
  content: ManifestContent,
  sequence: number,
  before: readonly DatedFile[] = [],
  now = Date.now(),
): Manifest {
  const { latest_cover_at, counts, settings } = content;
  const { icu_version, unicode_version } = content;
  return {
    format_version: FORMAT_VERSION,
    id: generationId(sequence, contentHash(content)),
    sequence,
    latest_cover_at,
    counts,
    settings,
    icu_version,
    unicode_version,
    files: dateFiles(sortedFiles(content.files), before, now),
  };
}

/** A time so far ahead was written by a clock that was wrong. */
const MOST_AHEAD_MS = 24 * 60 * 60_000;

/**
 * A file with other bytes gets a later time, even if the clock goes back a little or two generations share a second:
 * mirrors compare sizes and times.
 */
function dateFiles(
  files: readonly ManifestFile[],
  before: readonly DatedFile[],
  now: number,
): DatedFile[] {
  const known = new Map(before.map((file) => [file.path, file]));
  return files.map((file) => {
    const old = known.get(file.path);
    if (old?.sha256 === file.sha256) return { ...file, changed_at: old.changed_at };
    const later = old === undefined ? now : Date.parse(old.changed_at) + 1000;
    const time = later > now + MOST_AHEAD_MS ? now : Math.max(now, later);
    return { ...file, changed_at: `${new Date(time).toISOString().slice(0, 19)}Z` };
  });
}

/** The bytes of `manifest.json`. */
export function encodeManifest(manifest: Manifest): string {
  return `${JSON.stringify(manifest, null, 1)}\n`;
}

/**
 * Parses and checks a manifest.
 * @param text the content of `manifest.json`
 * @throws Error that says what is wrong; for a manifest of another version, with both versions
 */
export function parseManifest(text: Buffer | string): Manifest {
  const found = parseObject(text, MANIFEST);
  if (found.format_version !== FORMAT_VERSION) {
    throw new Error(
      `${MANIFEST} has format version ${shown(found.format_version)}; this program reads version ${FORMAT_VERSION}. ` +
        'Generate again with this program, or serve with the one that wrote it.',
    );
  }
  const manifest = readMembers(found, MANIFEST, MEMBERS);
  const { id, sequence, files } = manifest;
  const paths = new Set(files.map(({ path }) => path));
  const missing = FIXED_FILES.filter((path) => !paths.has(path));
  const fault = (text: string) => new Error(`${MANIFEST} is damaged: ${text}.`);
  if (paths.size < files.length) throw fault('"files" holds a path twice');
  if (missing.length > 0) throw fault(`"files" does not hold ${missing.join(', ')}`);
  if (generationId(sequence, contentHash(manifest)) !== id) {
    throw fault('"id" does not fit the content');
  }
  return manifest;
}

/**
 * Readers join paths to the generation's folder, and anybody with a key may download them. So only paths
 * that a generator writes are accepted.
 */
function isFilePath(value: unknown): value is string {
  return isPack(value) || isTitleList(value) || (FIXED_FILES as readonly unknown[]).includes(value);
}

function sortedFiles(files: readonly ManifestFile[]): ManifestFile[] {
  return files
    .map(({ path, size, sha256 }) => ({ path, size, sha256 }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
