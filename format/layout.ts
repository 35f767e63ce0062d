/**
 * Where the files of a snapshot are. Names are relative: those of a generation to its own folder,
 * those of the snapshots folder to `SNAPSHOTS_DIR`. Nothing here touches a disk.
 */

/** The version that this code writes, and the only one that it reads. */
export const FORMAT_VERSION = 1;

/** Inside `SNAPSHOTS_DIR`. */
export const CURRENT = 'current';
export const GENERATIONS = 'generations';
export const KEYS_FILE = 'keys.json';
export const STATUS_FILE = 'status.json';
/** The report of the last run, whatever its outcome; a generation has one of its own. */
export const RUN_REPORT = 'report.json';
export const HOLD_FILE = 'hold.json';
export const LOCK_FILE = 'lock';
/** Prefix of a generation that is still being written; readers ignore it. */
export const UNFINISHED_PREFIX = '.unfinished-';

/** Inside `SNAPSHOTS_DIR`: the only folder that proxies write to. */
export const PROXY_FOLDER = 'proxy';

/** Inside {@link PROXY_FOLDER}: the key usage that the proxy with a PORT reports. */
export function keyUsageFile(port: number): string {
  return `key-usage-${port}.json`;
}

/** In `SNAPSHOTS_DIR` itself: the key usage that the proxy of an earlier version wrote there. */
export const OLD_KEY_USAGE_FILE = 'key-usage.json';

/** Whether a name is one that {@link keyUsageFile} makes. */
export function isKeyUsageFile(name: string): boolean {
  return /^key-usage-(?:0|[1-9]\d{0,4})\.json$/.test(name);
}

/** Inside {@link PROXY_FOLDER}: the limit windows that the proxy with a PORT leaves for its next start. */
export function limitWindowsFile(port: number): string {
  return `limit-windows-${port}.bin`;
}

/** Inside a generation. */
export const MANIFEST = 'manifest.json';
export const REPORT = 'report.json';
export const PLATFORMS = 'platforms.json';
export const STATS = 'stats.json';
export const COVERS_RECENT = 'covers-recent.json';
export const MINISEARCH = 'search.json';
export const PLATFORM_INDEX = 'index/platforms.json';
export const GAME_INDEX = 'index/games.bin';
export const COVER_INDEX = 'index/covers.bin';
export const SEARCH_INDEX = 'index/search.bin';

/** The files that every generation has besides its packs and its manifest. */
export const FIXED_FILES: readonly string[] = [
  REPORT,
  PLATFORMS,
  STATS,
  COVERS_RECENT,
  MINISEARCH,
  PLATFORM_INDEX,
  GAME_INDEX,
  COVER_INDEX,
  SEARCH_INDEX,
];

const SLUG = /^(?!\.)[A-Za-z0-9._~-]{1,191}$/;

/**
 * Whether a slug can be part of a path unencoded: 1 to 191 of RFC 3986's unreserved characters, no
 * leading dot. Only such platform slugs become file names, so no name can leave the folder.
 */
export function isSlug(slug: string): boolean {
  return SLUG.test(slug);
}

/** The pack with every game of a platform. */
export function gamesPack(platformSlug: string): string {
  return `games/${platformSlug}.json`;
}

/** The pack with every approved cover of a platform. */
export function coversPack(platformSlug: string): string {
  return `covers/${platformSlug}.json`;
}

const GENERATION_ID = /^\d{6,15}-[0-9a-f]{12}$/;

/** A generation's id: its sequence number, then the first 12 hex digits of its content's SHA-256. */
export function generationId(sequence: number, contentHash: string): string {
  return `${String(sequence).padStart(6, '0')}-${contentHash.slice(0, 12)}`;
}

/** Whether a name is one that {@link generationId} makes; no other name is looked up on disk. */
export function isGenerationId(name: string): boolean {
  return GENERATION_ID.test(name);
}
