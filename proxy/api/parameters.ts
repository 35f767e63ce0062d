/**
 * Reads the query of a request. Unknown and repeated parameters are refused, so that a typing error does
 * not quietly return something else.
 */

import { parseExternalId } from '../../find/names/external-ids.ts';
import { MOST_PLATFORMS } from '../../find/names/platform-names.ts';
import { FACETS, type FacetName, type Query, SORTS, type Years } from '../../find/search/query.ts';
import { forEachFilter, VALUE_FILTER_NAMES } from '../../find/search/value-filters.ts';
import { queryVariantsOf } from '../../find/text/variants.ts';
import { KEY_PREFIX } from '../../lib/format/api-key.ts';
import { type Id, splitId } from '../../lib/format/index/ids.ts';

/** A parameter is unknown, or its value is not allowed. The message is the text of the 400 response. */
export class ParameterError extends Error {
  override readonly name = 'ParameterError';
  /** The name of the parameter or header field; undefined for a value without a name. */
  readonly parameter: string | undefined;

  constructor(parameter: string | undefined, message: string) {
    super(message);
    this.parameter = parameter;
  }
}

/** The parameters of a request by name. An empty value counts as absent. */
export type QueryParameters = ReadonlyMap<string, string>;

/** In characters; an error repeats no more of a name or a value. */
const LONGEST_NAME = 40;
const MALFORMED = /%(?![0-9A-Fa-f]{2})/;

/**
 * @param queryString the part of the target after "?"
 * @param allowed the names of the parameters that the endpoint has
 * @throws ParameterError
 */
export function readParameters(queryString: string, allowed: readonly string[]): QueryParameters {
  const values = new Map<string, string>();
  const seen = new Set<string>();
  for (const parameter of queryString.split('&')) {
    if (parameter === '') continue;
    const equals = parameter.indexOf('=');
    const [rawName, rawValue] =
      equals < 0 ? [parameter, ''] : [parameter.slice(0, equals), parameter.slice(equals + 1)];
    const name = decode(rawName) ?? rawName;
    if (!allowed.includes(name)) throw unknownParameter(name, allowed);
    if (seen.has(name)) throw repeatedParameter(name);
    seen.add(name);
    const value = decode(rawValue);
    if (value === undefined) throw malformedValue(name, rawValue);
    if (value !== '') values.set(name, value);
  }
  return values;
}

/** Decodes percent-encoded UTF-8, with "+" for a space. @returns undefined if it is malformed */
function decode(text: string): string | undefined {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}

/** Clients that are generated repeat a list, unless they know `explode: false`. */
const LISTS = ['platform', 'facets', 'include', 'prefer', 'cover_type', 'slugs'];

function repeatedParameter(name: string): ParameterError {
  const fix = LISTS.includes(name) ? ', with commas between its values' : '';
  return new ParameterError(name, `${name} must be given at most once${fix}`);
}

function unknownParameter(name: string, allowed: readonly string[]): ParameterError {
  const choice = allowed.length === 0 ? 'none' : allowed.join(', ');
  if (name === '') {
    return new ParameterError(undefined, `A parameter has no name. Allowed: ${choice}`);
  }
  return new ParameterError(cut(name), `Unknown parameter: ${cut(name)}. Allowed: ${choice}`);
}

/** A value of a parameter, for an error. */
export function shownParameter(value: string): string {
  return value.includes(KEY_PREFIX) ? cut(value) : `"${cut(value)}"`;
}

function cut(text: string): string {
  // A client may have put its key there by mistake. No response contains a key.
  if (text.includes(KEY_PREFIX)) return 'an API key';
  return text.length > LONGEST_NAME ? `${text.slice(0, LONGEST_NAME)}…` : text;
}

function malformedValue(name: string, rawValue: string): ParameterError {
  return new ParameterError(
    name,
    MALFORMED.test(rawValue)
      ? `${name} must be percent-encoded: write % as %25`
      : `${name} must be percent-encoded UTF-8`,
  );
}

// Pages.

const LARGEST_PER_PAGE = 100;
const DEFAULT_PER_PAGE = 50;

export const PAGING_NAMES = ['page', 'per_page'] as const;

export interface Paging {
  /** From 1 on. */
  readonly page: number;
  /** From 1 to 100. */
  readonly perPage: number;
}

/** @throws ParameterError */
export function pagingOf(parameters: QueryParameters): Paging {
  return {
    page: integer(parameters, 'page', 1, Number.MAX_SAFE_INTEGER),
    perPage: integer(parameters, 'per_page', DEFAULT_PER_PAGE, LARGEST_PER_PAGE),
  };
}

function integer(
  parameters: QueryParameters,
  name: string,
  fallback: number,
  largest: number,
): number {
  const text = parameters.get(name);
  if (text === undefined) return fallback;
  const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
  if (value <= largest) return value;
  throw new ParameterError(name, `${name} must be an integer from 1 to ${largest}`);
}

// Batches.

const MOST_ENTRIES = 100;
const PATH = /^[^/]+\/[^/]+$/;

export interface Batch {
  /** Ids, or slugs such as "snes/chrono-trigger", as they were sent. */
  readonly entries: readonly string[];
  /** The value of each entry, if the entries are ids. */
  readonly ids: readonly Id[] | undefined;
}

/**
 * @returns the batch of ids; undefined if the request has none
 * @throws ParameterError
 */
export function idsOf(parameters: QueryParameters): Batch | undefined {
  const entries = parameters.get('ids')?.split(',');
  if (entries === undefined) return undefined;
  const ids: Id[] = [];
  for (const entry of entries) {
    const id = splitId(entry);
    if (id !== undefined) ids.push(id);
  }
  if (ids.length === entries.length && ids.length <= MOST_ENTRIES) return { entries, ids };
  throw new ParameterError('ids', `ids must be 1 to ${MOST_ENTRIES} ids, such as ids=1,2,3`);
}

/**
 * @returns the batch of slugs; undefined if the request has none
 * @throws ParameterError
 */
export function slugsOf(parameters: QueryParameters): Batch | undefined {
  const entries = parameters.get('slugs')?.split(',');
  if (entries === undefined) return undefined;
  if (entries.length <= MOST_ENTRIES && entries.every((entry) => PATH.test(entry))) {
    return { entries, ids: undefined };
  }
  const form = 'slugs of a platform and a game, such as slugs=snes/chrono-trigger,nes/tetris';
  throw new ParameterError('slugs', `slugs must be 1 to ${MOST_ENTRIES} ${form}`);
}

// Lists.

/**
 * The values of a parameter, which commas separate.
 * @param noun names the values in the error
 * @returns undefined if the request does not have the parameter
 * @throws ParameterError
 */
export function readList(
  parameters: QueryParameters,
  name: string,
  most: number,
  noun: string,
): string[] | undefined {
  const values = parameters
    .get(name)
    ?.split(',')
    .map((value) => value.trim());
  if (values !== undefined && (values.length > most || values.includes(''))) {
    throw new ParameterError(name, `${name} must be 1 to ${most} ${noun}, separated by commas`);
  }
  return values;
}

// Searches.

export const FILTER_NAMES = ['year', 'has_cover'] as const;
export const SEARCH_NAMES = [
  'q',
  'platform',
  ...VALUE_FILTER_NAMES,
  ...FILTER_NAMES,
  'sort',
  'facets',
];
/** The longest search query `q` after trimming, in characters. */
const LONGEST_QUERY = 100;
const YEARS = /^(\d{1,4})(?:-(\d{1,4}))?$/;

/** @throws ParameterError */
export function searchOf(parameters: QueryParameters): Query {
  const sort = parameters.get('sort') ?? 'title_asc';
  if (!isOneOf(SORTS, sort))
    throw new ParameterError('sort', `sort must be one of ${SORTS.join(', ')}`);
  const q = parameters.get('q')?.trim() ?? '';
  // The limit is in code points, at most two code units each: a longer text need not be counted.
  if (q.length > LONGEST_QUERY * 2 || [...q].length > LONGEST_QUERY) {
    throw new ParameterError('q', `q must be at most ${LONGEST_QUERY} characters long`);
  }
  return {
    variants: q === '' ? undefined : queryVariantsOf(q),
    platform: platformsOf(parameters),
    ...forEachFilter((name) => parameters.get(name)),
    ...filtersOf(parameters),
    sort,
  };
}

/** The slugs in `platform`. @throws ParameterError */
function platformsOf(parameters: QueryParameters): readonly string[] | undefined {
  return readList(parameters, 'platform', MOST_PLATFORMS, 'slugs, ids or names of platforms');
}

/** The filters that lists of games have, too. @throws ParameterError */
export function filtersOf(parameters: QueryParameters): Pick<Query, 'year' | 'has_cover'> {
  return { year: yearsOf(parameters), has_cover: flagOf(parameters, 'has_cover') };
}

function yearsOf(parameters: QueryParameters): Years | undefined {
  const text = parameters.get('year');
  if (text === undefined) return undefined;
  const [, from, to = from] = YEARS.exec(text) ?? [];
  if (from !== undefined && Number(from) <= Number(to)) return [Number(from), Number(to)];
  throw new ParameterError(
    'year',
    `year must be a year or a range of years, such as 1995 or 1990-1999, not ${shownParameter(text)}`,
  );
}

function flagOf(parameters: QueryParameters, name: string): boolean | undefined {
  const text = parameters.get(name);
  if (text === undefined) return undefined;
  if (text === 'true' || text === 'false') return text === 'true';
  throw new ParameterError(name, `${name} must be true or false, not ${shownParameter(text)}`);
}

/** @throws ParameterError */
export function facetsOf(parameters: QueryParameters): readonly FacetName[] {
  const names = readList(parameters, 'facets', FACETS.length, 'names') ?? [];
  for (const name of names) {
    if (!isOneOf(FACETS, name)) {
      throw new ParameterError(
        'facets',
        `facets has ${shownParameter(name)}. Allowed: ${FACETS.join(', ')}`,
      );
    }
  }
  return FACETS.filter((name) => names.includes(name));
}

function isOneOf<T extends string>(all: readonly T[], text: string): text is T {
  return (all as readonly string[]).includes(text);
}

// Matches.

export const MATCH_NAMES = ['platform', 'names', 'ids'] as const;
const MOST_FILES = 50;
const LONGEST_FILE_NAME = 255;

export interface MatchRequest {
  /** Slugs, or ids of other sources. Empty only with ids. */
  readonly platforms: readonly string[];
  readonly names: readonly string[];
  /** Ids of other sources; undefined if the request has names. */
  readonly ids: readonly string[] | undefined;
}

/** @throws ParameterError */
export function matchOf(parameters: QueryParameters): MatchRequest {
  const ids = parameters.get('ids')?.split('/');
  const names = parameters.get('names')?.split('/');
  const platforms = platformsOf(parameters) ?? [];
  if (names !== undefined && ids !== undefined) {
    throw new ParameterError('ids', 'Send either names or ids, not both');
  }
  if (names === undefined && ids === undefined) {
    throw new ParameterError(
      'names',
      `names is missing. Send 1 to ${MOST_FILES} file names, separated by /`,
    );
  }
  if (!areShort(names ?? [])) {
    throw new ParameterError(
      'names',
      `names must be 1 to ${MOST_FILES} file names of 1 to ${LONGEST_FILE_NAME} characters, separated by /`,
    );
  }
  if (!areShort(ids ?? []) || ids?.some((id) => parseExternalId(id) === undefined)) {
    throw new ParameterError(
      'ids',
      `ids must be 1 to ${MOST_FILES} ids with their sources, separated by /, such as ids=serial:SLUS-20851/mame:sf2`,
    );
  }
  if (platforms.length === 0 && ids === undefined) {
    throw new ParameterError(
      'platform',
      "platform is missing. Send the slug of the files' platform, from /platforms",
    );
  }
  return { platforms, names: names ?? [], ids };
}

/** The limit is in characters, of which one has at most two code units. */
function areShort(texts: readonly string[]): boolean {
  const isShort = (text: string) =>
    text !== '' && (text.length <= LONGEST_FILE_NAME || [...text].length <= LONGEST_FILE_NAME);
  return texts.length <= MOST_FILES && texts.every(isShort);
}
