/**
 * `status.json`: how the last runs of the generator ended. The manifest cannot contain this, because a
 * run that finds nothing new publishes no generation. The proxy computes the age of its data from this file.
 */
import { isTime } from './json/values.ts';
import { isGenerationId, STATUS_FILE } from './layout.ts';

/** The largest file that is read, in bytes. */
export const LARGEST_STATUS_FILE = 1024 * 1024;

/** When a generation was last found to agree with the database. */
export interface Agreement {
  readonly id: string;
  /** RFC 3339 UTC. */
  readonly at: string;
}

/** When a run ended, and how. */
export interface EndedRun {
  /** RFC 3339 UTC. */
  readonly finished_at: string;
  readonly outcome: 'published' | 'unchanged' | 'held' | 'refused' | 'failed';
}

/** The last run, and those before it. */
export interface RunStatus extends EndedRun {
  /** When the last run ended after which `current` agreed with the database: RFC 3339 UTC, or null. */
  readonly current_as_of: string | null;
  /** What went wrong, or null. */
  readonly error: string | null;
  /** One entry for each generation on disk that a run published or found unchanged, the latest first. */
  readonly agreed: readonly Agreement[];
  /** The runs before this one, the latest first. */
  readonly earlier?: readonly EndedRun[] | undefined;
}

export function encodeStatus(status: RunStatus): string {
  const { finished_at, outcome, current_as_of, error, agreed, earlier } = status;
  const members = { finished_at, outcome, current_as_of, error, agreed, earlier };
  return `${JSON.stringify(members, null, 1)}\n`;
}

/**
 * @param text the content of the file; older programs wrote no `agreed`, or no `earlier`
 * @throws Error if it is not the status of a run
 */
export function parseStatus(text: string): RunStatus {
  let found: Omit<RunStatus, 'agreed'> & Partial<Pick<RunStatus, 'agreed'>>;
  try {
    found = JSON.parse(text) ?? {};
  } catch (cause) {
    throw new Error(`${STATUS_FILE} is damaged: it is not JSON.`, { cause });
  }
  const { finished_at, outcome, current_as_of, error, agreed = [], earlier = [] } = found;
  const isStatus =
    isTime(finished_at) &&
    typeof outcome === 'string' &&
    (current_as_of === null || isTime(current_as_of)) &&
    (error === null || typeof error === 'string') &&
    Array.isArray(agreed) &&
    agreed.every(
      (entry) => typeof entry?.id === 'string' && isGenerationId(entry.id) && isTime(entry.at),
    ) &&
    Array.isArray(earlier) &&
    earlier.every((run) => isTime(run?.finished_at) && typeof run.outcome === 'string');
  if (!isStatus) throw new Error(`${STATUS_FILE} is damaged: it is not the status of a run.`);
  return { ...found, agreed };
}
