/**
 * `status.json`: how the generator's last run ended. The manifest cannot say it, since a run that
 * finds nothing new publishes nothing; the proxy tells the age of its data by this file.
 */
import { STATUS_FILE } from './layout.ts';

export interface RunStatus {
  /** RFC 3339 UTC. */
  readonly finished_at: string;
  readonly outcome: 'published' | 'unchanged' | 'refused' | 'failed';
  /** The last end of a run that read the whole catalogue and left `current` agreeing with it, or null. */
  readonly current_as_of: string | null;
  /** What went wrong, or null. */
  readonly error: string | null;
}

export function encodeStatus(status: RunStatus): string {
  return `${JSON.stringify(status, null, 1)}\n`;
}

/**
 * @param text the content of the file
 * @throws Error when it is not a status
 */
export function parseStatus(text: string): RunStatus {
  let found: RunStatus | null;
  try {
    found = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${STATUS_FILE} is damaged: it is not JSON.`, { cause });
  }
  const isStatus =
    isTime(found?.finished_at) &&
    typeof found?.outcome === 'string' &&
    (found.current_as_of === null || isTime(found.current_as_of)) &&
    (found.error === null || typeof found.error === 'string');
  if (found === null || !isStatus) {
    throw new Error(`${STATUS_FILE} is damaged: it is not the status of a run.`);
  }
  return found;
}

function isTime(value: unknown): boolean {
  return typeof value === 'string' && !Number.isNaN(Date.parse(value));
}
