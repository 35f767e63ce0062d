/** Checks and cleans purposes, addresses, names, reasons, notes and limits that people typed. */
import { LARGEST_LIMIT } from '../../lib/format/keys-file.ts';
import { invalid } from './refusal.ts';

/** In UTF-16 code units, which the attribute `maxlength` of a form also counts. */
export const LONGEST_TEXT = 5000;
/** In the same units: the longest name of a key, and the longest address of a website. */
export const LONGEST_KEY_NAME = 60;
export const LONGEST_ADDRESS = 2000;

/** The field of the form for the address of a website. */
const WEBSITE = 'website_url';

/**
 * Returns a text in the form in which it is stored: without white space at both ends, with \n for line
 * breaks, and with a space for every other control character except tabs.
 */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .replace(/\r\n?/g, '\n')
    .replace(/[^\P{Cc}\n\t]/gu, ' ')
    .trim();
}

/** @param ifEmpty what to do about an empty text @throws Refusal if the text is empty or too long */
export function readPurpose(text: string, ifEmpty = 'Say what you are building.'): string {
  const purpose = cleanText(text);
  if (purpose === '') throw invalid(ifEmpty, 'purpose');
  checkLength('Your text', purpose, 'purpose');
  return purpose;
}

/** @param field of the form, if a page has one @throws Refusal if the text is too long */
export function checkLength(name: string, text: string, field?: string): void {
  if (text.length <= LONGEST_TEXT) return;
  const fault = `${name} has ${text.length} characters; at most ${LONGEST_TEXT} are allowed.`;
  throw invalid(fault, field);
}

/**
 * @returns the name on one line; null if it is empty
 * @throws Refusal if it is too long
 */
export function readKeyName(text: string): string | null {
  const name = cleanText(text)
    // Characters that change the direction of the text around them.
    .replace(/[\u202a-\u202e\u2066-\u2069]/g, '')
    .replace(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, ' ')
    .trim();
  if (name.length <= LONGEST_KEY_NAME) return /[^\p{C}\p{Z}]/u.test(name) ? name : null;
  const fault = `The name has ${name.length} characters; at most ${LONGEST_KEY_NAME} are allowed.`;
  throw invalid(fault, 'name');
}

/** @throws Refusal if a key may not have this limit, in requests per minute */
export function checkLimit(limit: number): void {
  if (Number.isInteger(limit) && limit >= 1 && limit <= LARGEST_LIMIT) return;
  throw invalid(
    `The limit must be a whole number from 1 to ${LARGEST_LIMIT}${Number.isNaN(limit) ? '' : `, not ${limit}`}.`,
    'limit',
  );
}

/** @throws Refusal if the reason is empty or too long */
export function readReason(text: string): string {
  const reason = cleanText(text);
  if (reason === '') {
    throw invalid('Write a reason: the owner gets it by e-mail.', 'reason');
  }
  checkLength('The reason', reason, 'reason');
  return reason;
}

/**
 * @returns the address of a website in its normal form, as browsers show it
 * @throws Refusal if it is not valid
 */
export function parseWebsite(text: string): string {
  const trimmed = text.trim();
  const url = URL.canParse(trimmed) ? new URL(trimmed) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol)) {
    const rule = 'The website must be an http or https address, such as https://example.org.';
    throw invalid(rule, WEBSITE);
  }
  if (url.username !== '' || url.password !== '') {
    throw invalid('The website address must not contain a user name or a password.', WEBSITE);
  }
  if (url.href.length <= LONGEST_ADDRESS) return url.href;
  throw invalid(
    `The website has ${url.href.length} characters; at most ${LONGEST_ADDRESS} are allowed.`,
    WEBSITE,
  );
}
