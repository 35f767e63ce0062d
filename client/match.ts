/**
 * Finds the games of file names. One call of `/match` takes up to 50 names in an address of limited length,
 * so a list is cut into as few calls as possible, one after another.
 */
import type { MatchItem, MatchQuery } from './contract-types.ts';

export interface MatchOptions extends Omit<MatchQuery, 'platform'> {
  /** Is called after each call of the API: how many names are matched, and how many there are. */
  readonly onProgress?: ((progress: { done: number; total: number }) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** The answer for one path. */
export type MatchResult = MatchItem & {
  /** The path has no name, as "/", or one of more than 255 characters. It was not sent. */
  readonly skipped?: true;
};

type CallMatch = (query: MatchQuery & { names: string }) => Promise<{ data: MatchItem[] }>;

const MOST_NAMES = 50;
/** In characters, of one name. */
const LONGEST_NAME = 255;
/** Of the encoded names with the slashes between them, of which each takes three. */
const MOST_BYTES = 7_500;

/** @param paths of files or folders. Of each only the name is sent, the part after the last "/" or "\\" */
export async function* matchAll(
  call: CallMatch,
  paths: readonly string[],
  { onProgress, signal: _, ...query }: MatchOptions & MatchQuery,
): AsyncGenerator<MatchResult> {
  let done = 0;
  for (const names of cut(paths)) {
    const sent = names.filter(canSend).join('/');
    const items = sent === '' ? [] : (await call({ ...query, names: sent })).data;
    done += names.length;
    onProgress?.({ done, total: paths.length });
    const found = items.values();
    for (const name of names) {
      const item = canSend(name) ? found.next().value : undefined;
      yield item ?? { name, read: null, match: null, game: null, candidates: [], skipped: true };
    }
  }
}

function canSend(name: string): boolean {
  return name !== '' && [...name].length <= LONGEST_NAME;
}

function* cut(paths: readonly string[]): Generator<string[]> {
  let names: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const name = (/[^/\\]*(?=[/\\]*$)/.exec(path)?.[0] ?? '').toWellFormed();
    const more = canSend(name) ? encodeURIComponent(name).length + 3 : 0;
    if (names.length === MOST_NAMES || bytes + more > MOST_BYTES) {
      yield names;
      names = [];
      bytes = 0;
    }
    names.push(name);
    bytes += more;
  }
  if (names.length > 0) yield names;
}
