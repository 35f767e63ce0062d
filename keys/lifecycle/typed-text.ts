/** Checks and cleans what people typed: purposes, reasons, notes, limits. */
import { LARGEST_LIMIT } from '../../format/keys-file.ts';
import { RefusedMove } from './move.ts';

/** In UTF-16 units, as the attribute `maxlength` of a form counts them. */
export const LONGEST_TEXT = 5000;

/**
 * The text as it is stored: without white space around it, with \n as line break, and with a space
 * for every other control character.
 */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, ' ')
    .trim();
}

/** @throws RefusedMove when the text is too long */
export function checkLength(name: string, text: string): void {
  if (text.length <= LONGEST_TEXT) return;
  throw new RefusedMove(
    `${name} has ${text.length} characters; at most ${LONGEST_TEXT} are allowed.`,
    'invalid',
  );
}

/** @throws RefusedMove when it is not a number of requests a minute that a key may have */
export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LARGEST_LIMIT) return;
  throw new RefusedMove(
    `The limit must be a whole number from 1 to ${LARGEST_LIMIT}${Number.isNaN(limit) ? '' : `, not ${limit}`}.`,
    'invalid',
  );
}

/** @throws RefusedMove when there is no reason, or it is too long */
export function readReason(text: string): string {
  const reason = cleanText(text);
  if (reason === '') {
    throw new RefusedMove('The reason must not be empty: the owner is told it.', 'invalid');
  }
  checkLength('The reason', reason);
  return reason;
}
