/**
 * `hold.json`: publishing is held (paused). While the file exists, even if it is damaged, no run publishes
 * a generation, and nothing removes the generation whose id it contains. The commands `snapshot hold` and
 * `snapshot rollback` write the file; `snapshot resume` removes it.
 */
import { jsonFile } from './json/parse-file.ts';
import { isTime, type Members, oneOf, orNull } from './json/values.ts';
import { HOLD_FILE, isGenerationId } from './layout.ts';

/** The longest reason, in UTF-16 code units. */
export const LONGEST_REASON = 500;

const SECONDS = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/;
/** Not allowed in a reason, which is shown on one line of a log or a terminal. */
const CONTROL = /[\p{Cc}\u2028\u2029]/u;

const SHAPE = {
  /** The generation that stays current. */
  id: isGenerationId,
  /** When publishing was paused: RFC 3339 UTC. */
  since: (value: unknown): value is string => isTime(value) && SECONDS.test(value),
  /** The reason that the operator gave, or null. */
  reason: orNull(isReason),
  /** The command that made the hold for this generation. */
  by: oneOf('hold', 'rollback'),
};

export type Hold = Members<typeof SHAPE>;

export const holdFile = jsonFile(HOLD_FILE, 1, SHAPE);

/** Whether a value can be the reason of a hold: one line of text that is neither blank nor too long. */
export function isReason(value: unknown): value is string {
  return (
    typeof value === 'string' &&
    value.trim() !== '' &&
    value.length <= LONGEST_REASON &&
    !CONTROL.test(value)
  );
}
