/**
 * The keys by which names of platforms are compared: platforms are found by them, and the client
 * maps names in the same way. This file also runs in browsers, as a part of the client (`client/`): it does without
 * the tables of `words.ts`, which are larger than the client.
 */

/** As in "Wii (Digital)". */
const QUALIFIER = /\([^)]*\)/g;
/** As in "Nintendo - Nintendo DS". */
const REPEATED_MAKER = /^(\S+) [-–] (?=\1\b)/i;

const ACCENTS = /[\u0300-\u036f]/g;
const HIRAGANA = /[\u3041-\u3096]/g;
const TO_KATAKANA = 0x60;
const PUNCTUATION = /[^\p{L}\p{N}]+/gu;

/** A name without case, accents, spaces and punctuation: "Mega Drive" and "megadrive" are the same. */
export function platformKey(name: string): string {
  return name
    .replaceAll('+', 'plus')
    .normalize('NFKD')
    .replace(ACCENTS, '')
    .normalize('NFC')
    .toLowerCase()
    .replace(HIRAGANA, (kana) => String.fromCharCode(kana.charCodeAt(0) + TO_KATAKANA))
    .replace(PUNCTUATION, '');
}

/** The keys that a name may have, the surest first. */
export function platformKeys(name: string): string[] {
  const short = withoutQualifier(name).replace(REPEATED_MAKER, '');
  return (short === name ? [name] : [name, short]).map(platformKey);
}

/** A qualifier does not name a platform: "Wii (Digital)" is called Wii. */
export function withoutQualifier(name: string): string {
  return name.replace(QUALIFIER, '').trim();
}
