/** The parameters of `/search` besides those of every list of games. */
import { readingsOf } from '../../../format/index/readings.ts';
import { LONGEST_QUERY, MOST_WORDS } from '../../../format/index/words.ts';
import { type Query, SORTS, type Sort } from '../../search/query.ts';
import { ParameterError, type Parameters } from './read-parameters.ts';

export const SEARCH_NAMES = ['q', 'platform', 'region', 'type', 'genre', 'sort'] as const;

/** @throws ParameterError */
export function searchOf(parameters: Parameters): Query {
  const sort = parameters.get('sort') ?? 'title_asc';
  if (!isSort(sort)) throw new ParameterError(`sort must be one of ${SORTS.join(', ')}`);
  const q = parameters.get('q')?.trim() ?? '';
  // The limit is in code points, at most two code units each: a longer text need not be counted.
  if (q.length > LONGEST_QUERY * 2 || [...q].length > LONGEST_QUERY) {
    throw new ParameterError(`q must be at most ${LONGEST_QUERY} characters long`);
  }
  return {
    readings: q === '' ? undefined : readingsOf(q, MOST_WORDS),
    platform: parameters.get('platform'),
    region: parameters.get('region'),
    type: parameters.get('type'),
    genre: parameters.get('genre'),
    sort,
  };
}

function isSort(text: string): text is Sort {
  return (SORTS as readonly string[]).includes(text);
}
