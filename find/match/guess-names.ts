/**
 * What a name may mean besides what it says: given a name that finds no game, it returns
 * the same name without an unknown extension, a number in a list, a platform or a region. Each is only a guess.
 */
import { regionOf } from '../names/regions.ts';

const EXTENSION = /\.([A-Za-z0-9]{1,10})$/;
/** A number or a numeral belongs to the title, except the `.001` of a file in parts. */
const NUMERAL = /\.(?:[1-9]\d*|[IVX]+)$/i;
const COPY = /^copy (?:\(?\d+\)? )?of\s+|\s+(?:-\s+)?copy(?:\s\d+)?$/i;
/** `01 - Title`, `001. Title`, `01_Title`, `01 Title` */
const LIST_NUMBER = /^(?:#?\d{1,4}\s*(?:-\s|[._)\]])|0\d+\s)\s*-?\s*(?=\S)/;
/** Nintendo's ids of discs: `GM8E01 - Title`, `Title_GM8E01`. */
const DISC_ID = String.raw`[A-Z][A-Z0-9]{2}[DEFHIJKPSUXYW](?=[A-Z]?\d)[A-Z0-9]{2}`;
/** Codes on packages and of titles: `SHVC-RI`, `MK-1186`, `AXVE`, and long ones of digits and capitals. */
const CODES = [
  DISC_ID,
  '[A-Z]{3,4}-[A-Z0-9]{2,4}(?:-[A-Z]{3})?',
  String.raw`[A-Z]{1,3}-\d{3,6}[A-Z]?`,
  '[A-Z][A-Z0-9]{2}[DEFHIJKPSUXYW]',
  String.raw`(?=[A-Z]*\d)(?=\d*[A-Z])[A-Z0-9]{8,10}`,
];
const WITH_CODE = new RegExp(
  String.raw`^(?:${CODES.join('|')})(?:\s*-\s+|[\s_]+)(?=\S)|(?:\s+-\s*|[\s_]+)${DISC_ID}$`,
);
const YEAR_AT_END = /[\s_-]+((?:19|20)\d\d)$/;
/** Words that are joined in one. */
const JOINED = /(?<=[a-z])(?=[A-Z0-9])|(?<=[0-9])(?=[A-Z][a-z])/g;
const MOST_WORDS_OF_PLATFORM = 5;
/** Other regions of small letters are words too, and "World" ends many titles. */
const SMALL_REGION = /^(?:usa|eur?|jpn?|jap|pal|.{5,})$/;

/** The last part of a name, in lower case, which may be an extension that no table has, and the rest. */
export function splitExtension(name: string): { rest: string; extension: string } | undefined {
  const [end = '', extension = ''] = EXTENSION.exec(name) ?? [];
  const rest = name.slice(0, name.length - end.length).trim();
  if (extension === '' || NUMERAL.test(name) || rest === '') return undefined;
  // In "Mega.Man.Kart" the dots are spaces.
  const isDotted = /^[^\s.]*\.\S*$/.test(rest) && /[A-Za-z0-9]{2}/.test(rest);
  if (isDotted && (/[A-Z]/.test(extension) || !/[A-Z]/.test(rest))) return undefined;
  return { rest, extension: extension.toLowerCase() };
}

interface Guess {
  readonly name: string;
  /** The region that was dropped, if one was. */
  readonly regions: readonly string[];
  /** The year that was dropped. */
  readonly year: number | null;
}

/**
 * Each guess lacks something more than the one before.
 * @param title as it was read
 * @param namesPlatform whether a text is a name of the platform
 */
export function* guessNames(
  title: string,
  namesPlatform: (name: string) => boolean,
): Generator<Guess> {
  let name = title;
  let regions: readonly string[] = [];
  let year: number | null = null;
  const steps: readonly ((text: string) => string)[] = [
    (text) => text.replace(COPY, ''),
    (text) => text.replace(WITH_CODE, ''),
    (text) => text.replace(LIST_NUMBER, ''),
    (text) => (/\s-\s/.test(text) ? text : text.replace(/[\s_-]+/g, ' ')),
    (text) => {
      const [end = '', digits] = YEAR_AT_END.exec(text) ?? [];
      year = Number(digits) || null;
      return text.slice(0, text.length - end.length);
    },
    (text) => withoutPlatform(text, namesPlatform),
    (text) => {
      const [, rest, tag] = /^(.*[^\s_-])[\s_-]+([A-Za-z]+)$/.exec(text) ?? [];
      const found = tag === undefined ? undefined : regionAtEnd(tag);
      regions = found ?? [];
      return found === undefined ? text : rest;
    },
    (text) => withoutPlatform(text, namesPlatform),
    (text) => (/\s/.test(text) ? text : text.replace(JOINED, ' ')),
  ];
  for (const step of steps) {
    const next = step(name).trim();
    if (next === name || next === '') continue;
    name = next;
    yield { name, regions, year };
  }
}

/** Without the platform's name in front, before a dash, or at the end. */
function withoutPlatform(text: string, namesPlatform: (name: string) => boolean): string {
  const [, front = '', title = ''] = /^(.+?)\s+-\s+(.+)$/.exec(text) ?? [];
  if (namesPlatform(front)) return title;
  const words = text.split(' ');
  for (let count = Math.min(MOST_WORDS_OF_PLATFORM, words.length - 1); count > 0; count--)
    if (namesPlatform(words.slice(-count).join(' ')))
      return words
        .slice(0, -count)
        .join(' ')
        .replace(/[\s-]+$/, '');
  return text;
}

/** The region that a word at the end names, none for NTSC; undefined if it is a word of the title. */
function regionAtEnd(tag: string): string[] | undefined {
  const isTag = tag === tag.toUpperCase() ? tag.length > 1 : SMALL_REGION.test(tag.toLowerCase());
  const region = isTag ? regionOf(tag) : undefined;
  if (/^ntsc$/i.test(tag)) return [];
  return region === undefined || region === 'World' ? undefined : [region];
}
