/**
 * The names of files and folders in `SNAPSHOTS_DIR` and in a generation. Each name is relative to the
 * folder that its comment names. This module does not access the disk.
 */
import { matching } from './json/values.ts';

/** The version of the format that this code writes, and the only one that it reads. */
export const FORMAT_VERSION = 7;

// Inside `SNAPSHOTS_DIR`:
export const CURRENT = 'current';
export const GENERATIONS = 'generations';
export const KEYS_FILE = 'keys.json';
/** Its space is given up when the disk is full, so that keys can be revoked. */
export const RESERVE_FILE = 'reserve';
export const STATUS_FILE = 'status.json';
/**
 * The report of the last run that read the catalogue and did not fail, even if it was refused. It names
 * rows that are not public, so it is never part of a generation, which anybody with a key may download.
 */
export const REPORT = 'report.json';
export const HOLD_FILE = 'hold.json';
/** An operator creates and removes it: while it exists, the API answers 503. */
export const MAINTENANCE_FILE = 'maintenance';
/** The state of a replica. */
export const REPLICA_FILE = 'replica.json';
/** What a replica has accepted last of a kind of release: it never accepts anything older. */
export const acceptedName = (kind: string): string => `accepted-${kind}.json`;
export const LOCK_FILE = 'lock';
/** What a replica has fetched of a generation that it has not published yet. */
export const PULL_FOLDER = 'pull';
/** What a run of the generator leaves for the next one. */
export const EARLIER_RUN = 'earlier-run';
/** Prefix of what is being written, replaced or removed; readers ignore it. */
export const UNFINISHED_PREFIX = '.unfinished-';

/** Inside `SNAPSHOTS_DIR`: the only folder that proxies write to. */
export const PROXY_FOLDER = 'proxy';

/** Inside {@link PROXY_FOLDER}: the key usage reported by the proxy whose PORT is `port`. */
export function keyUsageFile(port: number): string {
  return `key-usage-${port}.json`;
}

/** Whether {@link keyUsageFile} can have made a name. */
export function isKeyUsageFile(name: string): boolean {
  return /^key-usage-(?:0|[1-9]\d{0,4})\.json$/.test(name);
}

// Inside a generation:
export const MANIFEST = 'manifest.json';
export const PLATFORMS = 'platforms.json';
export const STATS = 'stats.json';
export const COVERS_RECENT = 'covers-recent.json';
export const MINISEARCH = 'search.json';
/** How to load {@link MINISEARCH}, for programs without this code. */
export const MINISEARCH_OPTIONS_FILE = 'search-options.json';
export const GAME_INDEX = 'index/games.bin';
/** Apart from {@link GAME_INDEX}: it stays the same file as long as no title, path or game changes. */
export const PATH_INDEX = 'index/paths.bin';
export const COVER_INDEX = 'index/covers.bin';
export const TITLE_INDEX = 'index/titles.bin';
/** Apart from {@link FILTER_INDEX}: it stays the same file as long as no title or path changes. */
export const WORD_INDEX = 'index/words.bin';
export const FILTER_INDEX = 'index/filters.bin';
/** Finds the games of file names. */
export const MATCH_INDEX = 'index/match.bin';
/** Since when each record has been as it is. */
export const SINCE_INDEX = 'index/since.bin';
/** What was removed in the last days, and the generations before this one. */
export const REMOVED = 'removed.json';

/** The files that depend on the generations before: the same catalogue gives others in another history. */
export const HISTORY_FILES: readonly string[] = [SINCE_INDEX, REMOVED];

/** The files that every generation has besides its packs and its manifest. */
export const FIXED_FILES: readonly string[] = [
  PLATFORMS,
  STATS,
  COVERS_RECENT,
  MINISEARCH,
  MINISEARCH_OPTIONS_FILE,
  GAME_INDEX,
  PATH_INDEX,
  COVER_INDEX,
  TITLE_INDEX,
  WORD_INDEX,
  FILTER_INDEX,
  MATCH_INDEX,
  ...HISTORY_FILES,
];

/**
 * Whether a value is a slug: 1 to 191 of RFC 3986's unreserved characters without a leading dot. A slug
 * needs no encoding in a path, and as a file name it cannot lead out of its folder.
 */
export const isSlug = matching(/^(?!\.)[A-Za-z0-9._~-]{1,191}$/);

/** Inside a generation: the pack with every game of a platform. */
export function gamesPack(platformSlug: string): string {
  return `games/${platformSlug}.json`;
}

/** Inside a generation: the pack with every approved cover of a platform's games. */
export function coversPack(platformSlug: string): string {
  return `covers/${platformSlug}.json`;
}

/** Inside a generation: the alternative titles of a platform's games. A platform without any has no such file. */
export function titleList(platformSlug: string): string {
  return `titles/${platformSlug}.json`;
}

/** The folders in a generation. */
export const GENERATION_FOLDERS: readonly string[] = ['games', 'covers', 'titles', 'index'];

/** Whether a path in a generation is that of a list of alternative titles. */
export const isTitleList = matching(/^titles\/(?!\.)[A-Za-z0-9._~-]{1,191}\.json$/);

/** Whether a path in a generation is that of a pack. */
export const isPack = matching(/^(?:games|covers)\/(?!\.)[A-Za-z0-9._~-]{1,191}\.json$/);

/** A generation's id: its sequence number, then the first 12 hex digits of its content hash. */
export function generationId(sequence: number, contentHash: string): string {
  return `${String(sequence).padStart(6, '0')}-${contentHash.slice(0, 12)}`;
}

/** The sequence number of a generation, which its id begins with. */
export function sequenceOf(id: string): number {
  return Number(id.split('-', 1)[0]);
}

/** Whether a value has the form of a {@link generationId}; no other name is looked up on disk. */
export const isGenerationId = matching(/^\d{6,15}-[0-9a-f]{12}$/);
