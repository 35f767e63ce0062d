/**
 * The manifest: the last file written into a generation and the first one read. It lists every other file
 * with its size and SHA-256, so that a reader refuses an incomplete generation.
 *
 * It contains nothing about the run that wrote it, except the versions of ICU and Unicode. With the same
 * versions, the same rows and settings give the same content.
 */
import { hash } from 'node:crypto';
import { parseObject, shown } from './json/parse-file.ts';
import { isCount, isObject, isSha256 } from './json/values.ts';
import { FIXED_FILES, FORMAT_VERSION, generationId, isGenerationId, MANIFEST } from './layout.ts';

export interface ManifestFile {
  /** Relative to the generation's folder. */
  readonly path: string;
  /** In bytes. */
  readonly size: number;
  /** The SHA-256 of the whole content, 64 hex digits. */
  readonly sha256: string;
}

export interface Counts {
  readonly platforms: number;
  readonly games: number;
  /** Approved covers. */
  readonly covers: number;
  readonly cover_files: number;
  /** Rows that were left out. Only their number: the rows are not public. */
  readonly left_out: number;
}

/** Settings that affect the content of a generation. */
export interface Settings {
  readonly site_url: string;
  readonly site_language: string;
  readonly files_url: string;
}

export interface Manifest {
  readonly format_version: number;
  readonly id: string;
  /** 1 for the first generation in a snapshots folder, then one more than the highest in it. */
  readonly sequence: number;
  /** The latest time at which a published cover was approved: RFC 3339 UTC, or null. */
  readonly latest_cover_at: string | null;
  readonly counts: Counts;
  readonly settings: Settings;
  /** `MINISEARCH_OPTIONS_HASH` of the program that wrote `search.json`. */
  readonly minisearch_options: string;
  /** The version of ICU, whose collation sorted the titles; absent in the golden files of the tests, which any Node must read. */
  readonly icu_version?: string;
  /** The version of Unicode that this ICU supports; absent like the one of ICU. */
  readonly unicode_version?: string;
  /** Sorted by path. */
  readonly files: readonly ManifestFile[];
}

/** A manifest without the members that {@link makeManifest} adds. */
export type ManifestContent = Omit<Manifest, 'format_version' | 'id' | 'sequence'>;

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
 * The largest manifest that is read, in bytes: enough for three thousand platforms. One of another machine
 * may be hostile, and its objects may take 50 times its size in memory.
 */
export const LARGEST_MANIFEST = 1024 * 1024;
/** The manifest, its list of files, one of them, and a wrong value in that, which the error names. */
const DEEPEST = 4;

/**
 * The SHA-256, in hex, that identifies the content of a generation. Two generations with the same hash
 * serve the same bytes, even if their sequence numbers differ.
 */
export function contentHash(content: ManifestContent): string {
  const { latest_cover_at, counts, settings, minisearch_options } = content;
  const files = sortedFiles(content.files);
  return hash(
    'sha256',
    JSON.stringify([FORMAT_VERSION, latest_cover_at, counts, settings, minisearch_options, files]),
  );
}

/** The manifest of a generation with a content and a sequence number. */
export function makeManifest(content: ManifestContent, sequence: number): Manifest {
  const { latest_cover_at, counts, settings, minisearch_options } = content;
  const { icu_version, unicode_version } = content;
  return {
    format_version: FORMAT_VERSION,
    id: generationId(sequence, contentHash(content)),
    sequence,
    ...{ latest_cover_at, counts, settings, minisearch_options },
    ...(icu_version === undefined ? {} : { icu_version }),
    ...(unicode_version === undefined ? {} : { unicode_version }),
    files: sortedFiles(content.files),
  };
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
  const found = parseObject(text, MANIFEST, DEEPEST);
  if (found.format_version !== FORMAT_VERSION) {
    throw new Error(
      `${MANIFEST} has format version ${shown(found.format_version)}; this program reads version ${FORMAT_VERSION}. ` +
        'Generate again with this program, or serve with the one that wrote it.',
    );
  }
  // faultOf checks that this cast is right.
  const manifest = found as unknown as Manifest;
  const fault = faultOf(manifest);
  if (fault !== undefined) throw new Error(`${MANIFEST} is damaged: ${fault}.`);
  return manifest;
}

function faultOf(manifest: Manifest): string | undefined {
  const { id, sequence, counts, settings, files } = manifest;
  if (!isGenerationId(id)) return '"id" is not an id of a generation';
  if (!isCount(sequence)) return '"sequence" is not a whole number';
  if (!isObject(counts)) return '"counts" is missing';
  for (const name of ['platforms', 'games', 'covers', 'cover_files', 'left_out'] as const) {
    if (!isCount(counts[name])) return `"counts.${name}" is not a whole number`;
  }
  if (!isObject(settings)) return '"settings" is missing';
  for (const name of ['site_url', 'site_language', 'files_url'] as const) {
    if (typeof settings[name] !== 'string') return `"settings.${name}" is not a string`;
  }
  if (typeof manifest.minisearch_options !== 'string') {
    return '"minisearch_options" is not a string';
  }
  for (const name of ['icu_version', 'unicode_version'] as const) {
    if (!['string', 'undefined'].includes(typeof manifest[name]))
      return `"${name}" is not a string`;
  }
  const latest = manifest.latest_cover_at;
  if (latest !== null && typeof latest !== 'string') return '"latest_cover_at" is not a time';
  if (!Array.isArray(files)) return '"files" is missing';
  const paths = new Set<string>();
  for (const file of files) {
    if (!isFile(file)) return `"files" holds ${shown(file)}`;
    if (paths.has(file.path)) return `"files" holds ${file.path} twice`;
    paths.add(file.path);
  }
  const missing = FIXED_FILES.filter((path) => !paths.has(path));
  if (missing.length > 0) return `"files" does not hold ${missing.join(', ')}`;
  if (generationId(sequence, contentHash(manifest)) !== id) return '"id" does not fit the content';
  return undefined;
}

// Readers join paths to the generation's folder, and anybody with a key may download them. So only paths
// that a generator writes are accepted.
const PACK_PATH = /^(?:games|covers)\/(?!\.)[A-Za-z0-9._~-]{1,191}\.json$/;

function isFile(file: unknown): file is ManifestFile {
  return (
    isObject(file) &&
    typeof file.path === 'string' &&
    (FIXED_FILES.includes(file.path) || PACK_PATH.test(file.path)) &&
    isCount(file.size) &&
    isSha256(file.sha256)
  );
}

function sortedFiles(files: readonly ManifestFile[]): ManifestFile[] {
  return files
    .map(({ path, size, sha256 }) => ({ path, size, sha256 }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}
