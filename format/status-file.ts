/**
 * `status.json`: how the last run of the generator ended. The manifest cannot contain this, because a
 * run that finds nothing new publishes no generation. The proxy computes the age of its data from this file.
 */
import { parseObject, readMembers } from './json/parse-file.ts';
import { isString, isTime, orNull } from './json/values.ts';
import { isGenerationId, STATUS_FILE } from './layout.ts';

/** The largest file that is read, in bytes. */
export const LARGEST_STATUS_FILE = 1024 * 1024;

export interface RunStatus {
  /** When the run ended: RFC 3339 UTC. */
  readonly finished_at: string;
  readonly outcome: 'published' | 'unchanged' | 'held' | 'refused' | 'failed';
  /** The generation that a run last published, or found to agree with the database; or null. */
  readonly id: string | null;
  /** When that run ended: RFC 3339 UTC, or null. */
  readonly current_as_of: string | null;
  /** What went wrong, or null. */
  readonly error: string | null;
}

export function encodeStatus(status: RunStatus): string {
  const { finished_at, outcome, id, current_as_of, error } = status;
  return `${JSON.stringify({ finished_at, outcome, id, current_as_of, error }, null, 1)}\n`;
}

/**
 * @param text the content of the file
 * @throws Error if it is not the status of a run
 */
export function parseStatus(text: string): RunStatus {
  return readMembers<RunStatus>(parseObject(text, STATUS_FILE, 1), STATUS_FILE, {
    finished_at: isTime,
    outcome: isString,
    id: orNull(isGenerationId),
    current_as_of: orNull(isTime),
    error: orNull(isString),
  });
}
