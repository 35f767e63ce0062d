/**
 * `hold.json`: publishing is held (paused). While the file exists, even if it is damaged, no run publishes
 * a generation, and nothing removes the generation whose id it contains. The commands `snapshot hold` and
 * `snapshot rollback` write the file; `snapshot resume` removes it.
 */
import { parseFile, readMembers } from './json/parse-file.ts';
import { isTime, orNull } from './json/values.ts';
import { HOLD_FILE, isGenerationId } from './layout.ts';

const VERSION = 1;
/** The largest file that is read, in bytes. */
export const LARGEST_HOLD_FILE = 16 * 1024;
/** The longest reason, in UTF-16 code units. */
export const LONGEST_REASON = 500;

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
/** Not allowed in a reason, which is shown on one line of a log or a terminal. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

export interface Hold {
  /** The generation that stays current. */
  readonly id: string;
  /** When publishing was paused: RFC 3339 UTC. */
  readonly since: string;
  /** The reason that the operator gave, or null. */
  readonly reason: string | null;
  /** The command that made the hold for this generation. */
  readonly by: 'hold' | 'rollback';
}

/** The bytes of the file. */
export function encodeHold({ id, since, reason, by }: Hold): string {
  return `${JSON.stringify({ version: VERSION, id, since, reason, by }, null, 1)}\n`;
}

/**
 * @param text the content of the file
 * @throws Error that says what is wrong; for a file of another version, with both versions
 */
export function parseHold(text: string): Hold {
  return readMembers<Hold>(parseFile(text, HOLD_FILE, VERSION), HOLD_FILE, {
    id: isGenerationId,
    since: (value) => isTime(value) && TIME.test(value),
    reason: orNull(isReason),
    by: (value) => value === 'hold' || value === 'rollback',
  });
}

/** Whether a value can be the reason of a hold: one line of text that is neither blank nor too long. */
export function isReason(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= LONGEST_REASON &&
    !CONTROL.test(value)
  );
}
