/**
 * Reads a file name of a game: the titles that it may mean, its regions, disc and serial. A file name goes
 * in, the result is a reading; no catalogue is involved. The time grows linearly with the name.
 *
 * Invariant: a title that was read reads as itself, unless it was encoded twice (`%2541`).
 */
import { serialPattern } from '../names/external-ids.ts';
import { regionOf } from '../names/regions.ts';
import { EXTENSIONS, LANGUAGES, WORDS } from './tags.ts';

export interface NameReading {
  /** The title that is shown: the first of `titles`. */
  readonly title: string;
  /** The titles that the name may mean, the likeliest first, each once. */
  readonly titles: readonly string[];
  /** The title with tags, which may be parts of it: "Sudoku [Superlite 1500 Series]", "Pong (Demo)". */
  readonly withTags: readonly string[];
  /** The regions of the catalogue, in the order of the name. */
  readonly regions: readonly string[];
  /** The number or letter of the disc, disk, tape or side. */
  readonly disc: string | null;
  /** As printed on the package, such as SLUS-20851. */
  readonly serial: string | null;
  /** The year in a tag, or at the end. */
  readonly year: number | null;
  /** Whether it is another game that was made of one. */
  readonly isHack: boolean;
}

const EXTENSION = /\.([A-Za-z0-9]{1,10})$/;
/** The number of a sequel, and initials as in "H.E.R.O". More digits are an extension: `.81`, `.001` of a part. */
const END_OF_TITLE = /\.(?:[1-9]|[IVX]+)$|(?<!\p{L})\p{L}\.\p{L}\.\p{L}$/iu;
const BRACKETS = /\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\}/g;
const LAST_BRACKETS = /(?:\([^()]*\)|\[[^[\]]*\]|\{[^{}]*\})$/;
/** What stands between two titles of a game. */
const BETWEEN_TITLES = /\s*~\s*|\s+a\.?k\.?a\.?\s+/i;
/** Another title in brackets: after "aka", or in Latin letters after one in another script. */
const TITLE_IN_BRACKETS =
  /\([aA]\.?[kK]\.?[aA]\.?\s+([^()]+)\)|^(?=[^\p{Script=Latin}([]*?[^\P{L}\p{Script=Latin}])[^\p{Script=Latin}([]*[([]([^()[\]]*\p{Script=Latin}{2}[^()[\]]*)/u;
/** `C:\roms\`, which a name can only have if it was a path elsewhere. */
const FOLDERS = /^.*[\\/](?=[^\\/]*[^\\/\s])|[\\/]+$/gs;
const ENCODED = /%[0-9a-f]{2}/i;
/** WHDLoad: the words of the title joined, then its version, and an id or what sets it apart. */
const WHDLOAD = /^([^\s_]+)_v\d[\d.]*[a-z]?(?:[_&][^\s-]*)?$/i;
/** The name of a package of Sony: publisher, serial, and the title in 16 characters. */
const PACKAGE = /^[A-Z]{2}\d{4}-([A-Z]{4})(\d{3})(\d{2})_\d\d-([A-Z0-9]{16})(?:-[A-Z0-9-]*)?$/;
/** GoodTools has other meanings for most letters in square brackets. */
const SQUARE_REGION = /^(?:[UEJ]|US|EU|JP|UK|.{3,})$/;
/** Of the titles with tags, those with the fewest. */
const MOST_WITH_TAGS = 6;
const HACK = /\bhack\)/i;
/** DVD5 and DVD9 are kinds of discs. */
const DISC =
  /(?<![A-Za-z0-9])(?:dis[ck]|cd(?!32)|dvd(?!-?[59](?!\d|of\d))|tape|cart|side|disquette|volume disk)(?:[\s._-]*(?:no\.?\s*)?([0-9]{1,2})|\s*([A-H]))(?:(?=of\d)|(?![0-9A-Za-z]))/i;
const YEAR = /^((?:19|20)[\dx]{2})(?:-[\dx]{2}){0,2}$/;
const VERSION =
  /^(?:v|ver|rev|version|revision|prg|chr)?\.?\s*[0-9][0-9a-z.]*$|^m[0-9]{1,2}$|^rev\s?[a-z]$/i;
const KANA = /[\u3041-\u3096\u30a1-\u30fa]/;
const SCENE_GROUP =
  /^(.+[._][A-Za-z0-9]+)-[A-Za-z0-9]{2,20}$|^(.+\.(?:INTERNAL|PROPER|READNFO))\.[A-Za-z0-9]{2,20}$/;
const TAG_WORDS = WORDS.anywhere.union(WORDS.brackets);
const FINAL_WORDS = WORDS.anywhere.union(WORDS.scene);
const SCENE_MARK = /^(?:multi?\d*|v\d[0-9a-z.]*|(?:dis[ck]|cd|dvd)\d{1,2})$/i;
/** GoodTools writes the letters of several regions together: JUE, UEB. */
const GOOD_CODES = /^[JUEWABK]{2,4}$/;
/** Sony's serials: SLUS-20851, and SLUS_208.51 before a title, as the file on the disc has it. */
const SERIAL = serialPattern('4', '2');
/** A name that is nothing but a serial or an id, perhaps with the number of a disc and an extension. */
const ONLY_CODE = new RegExp(
  String.raw`^(?:${SERIAL}|[A-Z]{2,5}[-_ ]?\d{3}\.\d\d|[A-Z]{4}[-_ ]\d{3}|[0-9A-F]{16}|(?=[A-F]*\d)[0-9A-F]{8})(?:[\s_.-]+(?:dis[ck]|cd|dvd)?\s?\d{1,2})?(?:\s?\.[A-Za-z0-9]{1,5})?$`,
);
/** In front, in brackets, or between spaces. */
const WITH_SERIAL = new RegExp(
  String.raw`^${SERIAL}(?![0-9A-Za-z])[\s._-]*|\s*[[(]${SERIAL}[\])]|[\s_]+${SERIAL}(?=[\s_]|$)`,
);

/** @param name with or without an extension */
export function readName(name: string): NameReading {
  const found = nothingRead();
  let text = cut(decoded(name.normalize('NFC').trim()), FOLDERS);
  const isCode = ONLY_CODE.test(withoutBrackets(text).trim());
  for (let before = ''; before !== text; ) {
    before = text;
    text = dropEnds(text, found);
  }
  const groups = text.match(BRACKETS) ?? [];
  for (const group of groups.toReversed()) readTag(group, found);
  found.disc ??= discIn(name);
  if (found.regions.size === 0 && KANA.test(text)) found.regions.add('Japan');
  const isHack = HACK.test(name);
  return {
    ...found,
    title: isCode ? (found.serial ?? text) : text,
    titles: isCode ? [] : titlesOf(text, isHack),
    withTags: isCode ? [] : found.withTags.slice(-MOST_WITH_TAGS),
    regions: [...found.regions],
    isHack,
  };
}

function nothingRead() {
  const read: Pick<NameReading, 'disc' | 'serial' | 'year'> = {
    disc: null,
    serial: null,
    year: null,
  };
  return { ...read, regions: new Set<string>(), withTags: [] as string[] };
}

type PartialReading = ReturnType<typeof nothingRead>;

/** Drops an extension, a serial, separators, and known tags at the end. */
function dropEnds(text: string, found: PartialReading): string {
  let rest = text.trim();
  const extension = EXTENSION.exec(rest)?.[1].toLowerCase() ?? '';
  // The caller drops the next end.
  if (EXTENSIONS.has(extension) && !END_OF_TITLE.test(rest) && rest.length > extension.length + 1)
    return cut(rest, EXTENSION);
  const serial = serialIn(rest);
  if (serial !== undefined) {
    found.serial ??= serial.value;
    rest = serial.rest || rest;
  }
  rest = rest.replace(WHDLOAD, '$1');
  if (!/\s/.test(rest)) rest = withSpaces(rest, found);
  const [group = ''] = LAST_BRACKETS.exec(rest) ?? [];
  if (group === '') return rest;
  if (!readTag(group, found)) return rest;
  found.withTags.push(rest);
  return cut(rest, LAST_BRACKETS);
}

/** The serial before a file name or in brackets, and the rest of the name. */
function serialIn(name: string): { value: string; rest: string } | undefined {
  const [, publisher, number, end, title = ''] = PACKAGE.exec(name) ?? [];
  if (title !== '')
    return { value: `${publisher}-${number}${end}`, rest: title.replace(/0+$/, '') };
  const found = WITH_SERIAL.exec(name);
  if (found === null) return undefined;
  const [letters, digits, last] = found.slice(1).filter((part) => part !== undefined);
  return { value: `${letters}-${digits}${last}`, rest: name.replace(WITH_SERIAL, '').trim() };
}

/** The text without what matches; the whole text if nothing would be left. */
function cut(text: string, pattern: RegExp): string {
  return text.replace(pattern, '').trim() || text;
}

/** A name without spaces has "_" or "." in their place. The scene appends words and the name of a group. */
function withSpaces(text: string, found: PartialReading): string {
  const [, before, beforeDot] = SCENE_GROUP.exec(text) ?? [];
  const release = before ?? beforeDot ?? '';
  const separator = text.includes('_') ? /_+|-(?=[A-Z]{3}_)/ : /\.+/;
  const tokens = release.split(separator);
  const isScene = FINAL_WORDS.has(tokens.at(-1)?.toLowerCase() ?? '');
  if (isScene) {
    const read: string[] = [];
    for (;;) {
      const last = tokens.at(-1) ?? '';
      const region = /^[A-Z]{2,4}$/.test(last) ? regionsOfTag(last) : [];
      if (!FINAL_WORDS.has(last.toLowerCase()) && !SCENE_MARK.test(last) && region.length === 0)
        break;
      // "Super Smash Bros. for Nintendo 3DS"
      if (tokens.length === 1 || tokens.at(-2) === 'Nintendo') break;
      read.unshift(...region);
      tokens.pop();
    }
    // The scene names no region for releases of its home market.
    found.regions = new Set([...(read.length > 0 ? read : ['USA']), ...found.regions]);
    return tokens.join(' ');
  }
  // "V.I.P."
  found.withTags.push(text);
  // A dot may also stand for an apostrophe: "Tom.Clancy.s.Rainbow.Six".
  return (
    text
      .replace(new RegExp(separator, 'g'), ' ')
      .replace(/ s(?= )/g, 's')
      .trim() || text
  );
}

/** A name without the percent-encoding of an address. */
function decoded(name: string): string {
  if (!ENCODED.test(name)) return name;
  try {
    return decodeURIComponent(name).normalize('NFC').trim() || name;
  } catch {
    return name;
  }
}

function discIn(text: string): string | null {
  const [, number, letter] = DISC.exec(text) ?? [];
  return (number ?? letter)?.toUpperCase() ?? null;
}

/**
 * Reads the regions and the disc in a tag, which stands before those that were read already.
 * @returns whether it is a tag, and not a part of the title
 */
function readTag(group: string, found: PartialReading): boolean {
  const inside = group.slice(1, -1).trim();
  const disc = discIn(inside);
  found.disc ??= disc;
  const isSquare = group[0] !== '(';
  let isTag = isSquare || disc !== null || inside === '' || inside === '-';
  let isWhole = true;
  const read: string[] = [];
  for (const part of inside.split(/\s*[,/&]\s*|\s+-\s+/)) {
    const regions = isSquare && !SQUARE_REGION.test(part) ? [] : regionsOfTag(part);
    read.push(...regions);
    // The first three digits of "199x" are not a year.
    found.year ??= Number(YEAR.exec(part)?.[1]) || null;
    isWhole &&= regions.length > 0 || isLanguage(part) || YEAR.test(part) || VERSION.test(part);
    isTag ||= part.split(/[\s.]+/).some((word) => TAG_WORDS.has(word.toLowerCase()));
  }
  found.regions = new Set([...read, ...found.regions]);
  return isTag || isWhole;
}

/** The regions that a part of a tag means, such as "USA", "JUE" or "EU-US"; empty if it is not a region. */
function regionsOfTag(part: string): readonly string[] {
  // Two letters in another case are a language, "(De)" or "(de)", except GoodTools' "(As)".
  const isLanguage = part.length === 2 && part !== part.toUpperCase() && part !== 'As';
  const region = isLanguage ? undefined : regionOf(part);
  if (region !== undefined) return [region];
  if (/^[A-Z]{2}-[A-Z]{2}$/.test(part)) return part.split('-').flatMap(regionsOfTag);
  return GOOD_CODES.test(part) ? [...part].flatMap((code) => regionOf(code) ?? []) : [];
}

function isLanguage(part: string): boolean {
  return part
    .split(/[-+]/)
    .every((code) => LANGUAGES.has(code.toLowerCase().slice(0, 2)) && code.length < 6);
}

/** The readings of a name in turn: without tags at its end, without all brackets, before the first bracket. */
function titlesOf(text: string, isHack: boolean): string[] {
  const readings = [text, withoutBrackets(text), text.slice(0, Math.max(0, text.search(/[([{]/)))];
  const [, aka, inLatin] = TITLE_IN_BRACKETS.exec(text) ?? [];
  readings.push(aka ?? inLatin ?? '');
  const titles = new Set<string>();
  for (const reading of readings.map((title) => title.trim())) {
    if (reading === '') continue;
    titles.add(reading);
    // The version and author of a hack are its own.
    if (isHack) continue;
    for (const half of reading.split(BETWEEN_TITLES)) titles.add(half.trim() || reading);
  }
  return titles.size > 0 ? [...titles] : [text];
}

/** Whether a text is two titles of a game. */
export function hasTwoTitles(text = ''): boolean {
  return BETWEEN_TITLES.test(text);
}

function withoutBrackets(text: string): string {
  return text.replace(BRACKETS, ' ').replace(/\s+/g, ' ');
}

/** The last part of a name, in lower case, which may be an extension that no table has, and the rest. */
export function splitExtension(name: string): { rest: string; extension: string } | undefined {
  const [end = '', extension = ''] = EXTENSION.exec(name) ?? [];
  const rest = name.slice(0, name.length - end.length).trim();
  if (extension === '' || rest === '' || END_OF_TITLE.test(name)) return undefined;
  // In "Mega.Man.Kart" the dots are spaces.
  const isDotted = /^[^\s.]*\.\S*$/.test(rest) && /[A-Za-z0-9]{2}/.test(rest);
  if (isDotted && (/[A-Z]/.test(extension) || !/[A-Z]/.test(rest))) return undefined;
  return { rest, extension: extension.toLowerCase() };
}
