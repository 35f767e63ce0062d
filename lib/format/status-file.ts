/**
 * `status.json`: how the last run of the generator ended. The manifest cannot contain this, because a
 * run that finds nothing new publishes no generation. The proxy computes the age of its data from this file.
 */
import { jsonFile } from './json/parse-file.ts';
import { isString, isTime, type Members, oneOf, orNull } from './json/values.ts';
import { isGenerationId, STATUS_FILE } from './layout.ts';

const SHAPE = {
  /** When the run ended: RFC 3339 UTC. */
  finished_at: isTime,
  outcome: oneOf('published', 'unchanged', 'held', 'refused', 'failed'),
  /** The generation that a run last published, or found to agree with the database; or null. */
  id: orNull(isGenerationId),
  /** When that run ended: RFC 3339 UTC, or null. */
  current_as_of: orNull(isTime),
  /** What went wrong, or null. */
  error: orNull(isString),
};

export type RunStatus = Members<typeof SHAPE>;

export const statusFile = jsonFile(STATUS_FILE, undefined, SHAPE);
