/**
 * Reads query parameters and checks their values. Unknown parameters are ignored.
 */
import { readingsOf } from '../../format/index/readings.ts';
import { LONGEST_QUERY, MOST_WORDS } from '../../format/index/words.ts';
import { type Query, SORTS, type Sort } from '../search/query.ts';

const LARGEST_PER_PAGE = 100;
const DEFAULT_PER_PAGE = 50;

/** A parameter has a value that is not allowed. The message is the text of the 400 response. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';
}

export interface Paging {
  readonly page: number;
  readonly perPage: number;
}

export interface SearchParameters extends Paging {
  readonly query: Query;
  /** The query, the filters and the sort as the client sent them, for the Link header. */
  readonly kept: readonly (readonly [name: string, value: string])[];
}

const PAGING_NAMES = ['page', 'per_page'] as const;
const SEARCH_NAMES = ['q', 'platform', 'region', 'type', 'genre', 'sort'] as const;

const MALFORMED = /%(?![0-9A-Fa-f]{2})/;

/** @throws ParameterError */
export function readPaging(queryString: string): Paging {
  return pagingOf(read(queryString, PAGING_NAMES));
}

/** @throws ParameterError */
export function readSearch(queryString: string): SearchParameters {
  const values = read(queryString, [...PAGING_NAMES, ...SEARCH_NAMES]);
  const paging = pagingOf(values);
  const sort = values.get('sort') ?? 'title_asc';
  if (!isSort(sort)) throw new ParameterError(`sort must be one of ${SORTS.join(', ')}`);
  const q = values.get('q')?.trim() ?? '';
  // The limit is in code points, at most two code units each: a longer text need not be counted.
  if (q.length > LONGEST_QUERY * 2 || [...q].length > LONGEST_QUERY) {
    throw new ParameterError(`q must be at most ${LONGEST_QUERY} characters long`);
  }
  const kept: [string, string][] = [];
  for (const name of SEARCH_NAMES) {
    const value = values.get(name);
    if (value !== undefined) kept.push([name, value]);
  }
  return {
    ...paging,
    kept,
    query: {
      readings: q === '' ? undefined : readingsOf(q, MOST_WORDS),
      platform: values.get('platform'),
      region: values.get('region'),
      type: values.get('type'),
      genre: values.get('genre'),
      sort,
    },
  };
}

function read(queryString: string, names: readonly string[]): Map<string, string> {
  const values = new Map<string, string>();
  if (queryString === '') return values;
  if (MALFORMED.test(queryString)) refuseMalformed(queryString, names);
  const seen = new Set<string>();
  for (const [name, value] of new URLSearchParams(queryString)) {
    if (!names.includes(name)) continue;
    if (seen.has(name)) throw new ParameterError(`${name} must be given at most once`);
    seen.add(name);
    // Bytes that are not UTF-8 decode to this character, which no title or name contains.
    if (value.includes('\ufffd')) {
      throw new ParameterError(`${name} must be percent-encoded UTF-8`);
    }
    if (value !== '') values.set(name, value);
  }
  return values;
}

/** `URLSearchParams` keeps a stray "%" as text, so "100%" and "%ZZ" would be accepted. */
function refuseMalformed(queryString: string, names: readonly string[]): void {
  for (const parameter of queryString.split('&').filter((part) => MALFORMED.test(part))) {
    const [[name] = ['']] = new URLSearchParams(parameter);
    if (names.includes(name)) {
      throw new ParameterError(`${name} must be percent-encoded: write % as %25`);
    }
  }
}

function pagingOf(values: ReadonlyMap<string, string>): Paging {
  return {
    page: integer(values, 'page', 1, Number.MAX_SAFE_INTEGER),
    perPage: integer(values, 'per_page', DEFAULT_PER_PAGE, LARGEST_PER_PAGE),
  };
}

function integer(
  values: ReadonlyMap<string, string>,
  name: string,
  fallback: number,
  largest: number,
): number {
  const text = values.get(name);
  if (text === undefined) return fallback;
  const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= largest) return value;
  throw new ParameterError(`${name} must be an integer from 1 to ${largest}`);
}

function isSort(text: string): text is Sort {
  return (SORTS as readonly string[]).includes(text);
}
