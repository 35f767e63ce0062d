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

type CallMatch = (query: MatchQuery & { names: string }) => Promise<{ data: MatchItem[] }>;

const MOST_NAMES = 50;
/** Of the encoded names with the slashes between them, of which each takes three. */
const MOST_BYTES = 7_500;

/** @param paths of which only the part after the last "/" is sent */
export async function* matchAll(
  call: CallMatch,
  paths: readonly string[],
  { onProgress, signal: _, ...query }: MatchOptions & MatchQuery,
): AsyncGenerator<MatchItem> {
  let done = 0;
  for (const names of cut(paths)) {
    const { data } = await call({ ...query, names: names.join('/') });
    done += names.length;
    onProgress?.({ done, total: paths.length });
    yield* data;
  }
}

function* cut(paths: readonly string[]): Generator<string[]> {
  let names: string[] = [];
  let bytes = 0;
  for (const path of paths) {
    const name = path.slice(path.lastIndexOf('/') + 1).toWellFormed();
    const more = encodeURIComponent(name).length + 3;
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
