/** The parameters `ids` and `slugs`, which name the records of a batch. */
import { type Id, splitId } from '../../../format/index/ids.ts';
import { ParameterError, type Parameters } from './read-parameters.ts';

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
export function idsOf(parameters: Parameters): Batch | undefined {
  const entries = parameters.get('ids')?.split(',');
  if (entries === undefined) return undefined;
  const ids: Id[] = [];
  for (const entry of entries) {
    const id = splitId(entry);
    if (id !== undefined) ids.push(id);
  }
  if (ids.length === entries.length && ids.length <= MOST_ENTRIES) return { entries, ids };
  throw new ParameterError(`ids must be 1 to ${MOST_ENTRIES} ids, such as ids=1,2,3`);
}

/**
 * @returns the batch of slugs; undefined if the request has none
 * @throws ParameterError
 */
export function slugsOf(parameters: Parameters): Batch | undefined {
  const entries = parameters.get('slugs')?.split(',');
  if (entries === undefined) return undefined;
  if (entries.length <= MOST_ENTRIES && entries.every((entry) => PATH.test(entry))) {
    return { entries, ids: undefined };
  }
  const form = 'slugs of a platform and a game, such as slugs=snes/chrono-trigger,nes/tetris';
  throw new ParameterError(`slugs must be 1 to ${MOST_ENTRIES} ${form}`);
}
