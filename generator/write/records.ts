/**
 * The JSON of each record, member by member in the order of the contract. JSON.stringify cannot write it:
 * ids beyond 2^53 must stay exact, and a record is assembled from the rows of several tables.
 *
 * While a run reads, it keeps only the values of a row: their JSON, each ended by a byte that JSON cannot
 * have. This takes half of the memory of the records.
 */
import type { Row, Value } from '../../lib/database/database.ts';
import { textOfId } from '../../lib/format/index/ids.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import { textOf } from '../../lib/format/pack.ts';
import {
  type Covers,
  type Files,
  type Games,
  LEFT_OUT,
  openTexts,
  type Platform,
  type RecordTexts,
} from '../read/catalogue.ts';
import {
  checkOptionalCount,
  checkOptionalText,
  type Note,
  noteDamage,
} from '../read/row-checks.ts';

/** The columns of each table, in the order in which its functions read them. */
export const GAME_COLUMNS =
  'id, platform_id, slug, title, release_year, description, genres, developer, publisher';
export const COVER_COLUMNS = 'id, game_id, region, type, status, approved_at';
export const FILE_COLUMNS = 'id, cover_id, variant, mime_type, width, height, size_bytes, path';

/** Stands for FILES_URL in memory, where a zero byte ends each value. */
const FILES_URL = '\u0001';
/** More bytes than the names, numbers and punctuation of any record take. */
const FIXED_BYTES = 256;

const COMMA = 0x2c;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/** What was read, from which records are made. */
export interface RecordSource {
  readonly settings: Settings;
  readonly platforms: readonly Platform[];
  readonly games: Games;
  readonly covers: Covers;
}

/** Before each value: the name of its member, with the punctuation around it. */
const GAME_MEMBERS = membersOf(
  ...['id', 'slug', 'title', 'release_year', 'description', 'genres', 'developer', 'publisher'],
);
const FILE_MEMBERS = membersOf(
  ...['id', 'variant', 'mime_type', 'width', 'height', 'size_bytes', 'url'],
);

function membersOf(...names: string[]): Buffer[] {
  return names.map((name, at) => Buffer.from(`${at === 0 ? '{' : ','}"${name}":`));
}

/**
 * The values of a game from `id` to `publisher`. The caller has checked the id, slug, title and year.
 * @param row the values of {@link GAME_COLUMNS} @param year to be served instead of the row's
 */
export function gameValues(row: Row, year: number | null, note: Note): string {
  const slug = textValue(row[2], 'slug', note);
  const title = textValue(row[3], 'title', note);
  const description = textValue(row[5], 'description', note);
  const genres = textValue(row[6], 'genres', note);
  const developer = textValue(row[7], 'developer', note);
  const publisher = textValue(row[8], 'publisher', note);
  return `${row[0]}\0${slug}\0${title}\0${year}\0${description}\0${genres}\0${developer}\0${publisher}\0`;
}

/**
 * The values of a file. The caller has checked the id.
 * @param row the values of {@link FILE_COLUMNS} @param url its address
 */
export function fileValues(row: Row, url: string, filesUrl: string, note: Note): string {
  const variant = repeatedValue(row[2], 'variant', note);
  const mimeType = repeatedValue(row[3], 'mime_type', note);
  const width = checkOptionalCount(row[4], 'width');
  const height = checkOptionalCount(row[5], 'height');
  const size = checkOptionalCount(row[6], 'size_bytes');
  // An address is in ASCII, and JSON escapes none of its characters.
  const rest = url.startsWith(filesUrl) ? `${FILES_URL}${url.slice(filesUrl.length)}` : url;
  return `${row[0]}\0${variant}\0${mimeType}\0${width}\0${height}\0${size}\0"${rest}"\0`;
}

/** The JSON of values that nearly all files share. */
const repeated = new Map<Value, string>();
const MOST_REPEATED = 100;

function repeatedValue(value: Value, name: string, note: Note): string {
  const known = repeated.get(value);
  if (known !== undefined) return known;
  let isDamaged = false;
  const json = textValue(value, name, (reason, text) => {
    isDamaged = true;
    note(reason, text);
  });
  if (repeated.size < MOST_REPEATED && !isDamaged) repeated.set(value, json);
  return json;
}

/** The JSON of a text, or null for a text that is unknown (null or empty). */
function textValue(value: Value, name: string, note: Note): string {
  const text = checkOptionalText(value, name);
  noteDamage(text, name, note);
  return encodeText(text);
}

/** Makes records of games and files from their values. */
export function makeRecordWriter({ texts, position, length }: RecordTexts, filesUrl = '') {
  const { blockOf, indexOf } = openTexts(texts);
  const ofFilesUrl = Buffer.from(JSON.stringify(filesUrl).slice(1, -1));

  /** Writes members byte by byte: for a million short values, a call for each takes longer. */
  function putMembers(target: Buffer, at: number, row: number, members: readonly Buffer[]): number {
    const source = blockOf(position[row]);
    let from = indexOf(position[row]);
    let end = at;
    for (const name of members) {
      for (let i = 0; i < name.length; i++) target[end++] = name[i];
      for (let byte = source[from++]; byte !== 0; byte = source[from++]) {
        if (byte !== 1) target[end++] = byte;
        else for (let i = 0; i < ofFilesUrl.length; i++) target[end++] = ofFilesUrl[i];
      }
    }
    return end;
  }

  /** The JSON of a value, which is `before` values after the first. They are short: `indexOf` would take longer. */
  function valueAt(row: number, before: number, encoding: 'latin1' | 'utf8'): string {
    const source = blockOf(position[row]);
    let start = indexOf(position[row]);
    for (let left = before; left > 0; start++) if (source[start] === 0) left--;
    let end = start;
    while (source[end] !== 0) end++;
    return source.toString(encoding, start, end);
  }
  const slug = (row: number) => valueAt(row, 1, 'latin1');
  const title = (row: number) => valueAt(row, 2, 'utf8');

  return {
    /** The most bytes that the record of a game up to `publisher`, or of a file, takes. */
    mostBytes: (row: number) => FIXED_BYTES + length[row] + ofFilesUrl.length,
    /** Writes the record of a game up to `publisher`. @returns the position after it */
    putGame: (target: Buffer, at: number, row: number) => putMembers(target, at, row, GAME_MEMBERS),
    /** Writes the members of a file, without the closing brace. @returns the position after them */
    putFile: (target: Buffer, at: number, row: number) => putMembers(target, at, row, FILE_MEMBERS),
    /** The JSON of the slug and the title of a game. */
    slugAndTitle: (row: number) => [slug(row), title(row)] as const,
    slug: (row: number) => textOf(slug(row)),
    title: (row: number) => textOf(title(row)),
  };
}

/** Where records are written: after a single `reserve`, into `buffer` from `at` on. */
export interface RecordTarget {
  readonly buffer: Buffer;
  at: number;
  reserve(bytes: number): void;
}

/** @returns a function that writes the record of a game that was read */
export function makeGameRecords({ platforms, games, settings }: RecordSource) {
  const { putGame, slug: slugOf, mostBytes } = makeRecordWriter(games);
  const tails = platforms.map(
    ({ slug, name }) =>
      `,"platform":${encodePlatformRef(slug, name)},"url":"${platformUrl(settings, slug)}/game/`,
  );
  return (target: RecordTarget, row: number, covers: number): void => {
    const rest = `,"cover_count":${covers}${tails[games.platform[row]]}${slugOf(row)}"}`;
    target.reserve(mostBytes(row) + rest.length * 3);
    target.at = putGame(target.buffer, target.at, row);
    target.at += target.buffer.write(rest, target.at);
  };
}

/** @returns a function that writes the record of a cover that was read */
export function makeCoverRecords(source: RecordSource & { readonly files: Files }) {
  const { platforms, games, covers, files, settings } = source;
  const { slugAndTitle } = makeRecordWriter(games);
  const { putFile, mostBytes } = makeRecordWriter(files, settings.files_url);
  const references = platforms.map(({ slug, name }) => encodePlatformRef(slug, name));
  const regions = covers.regions.map(encodeText);
  const types = covers.types.map(encodeText);
  // Covers come in the order of their games.
  let game = LEFT_OUT;
  let gameMember = '';
  return (target: RecordTarget, row: number): void => {
    if (covers.game[row] !== game) {
      game = covers.game[row];
      const [slug, title] = slugAndTitle(game);
      gameMember = `{"slug":${slug},"title":${title},"platform":${references[games.platform[game]]}}`;
    }
    const id = textOfId([covers.ids.high[row], covers.ids.low[row]]);
    const time = encodeTime(covers.approvedAt[row]);
    const head = `{"id":${id},"region":${regions[covers.region[row]]},"type":${types[covers.type[row]]},"approved_at":${time && `"${time}"`},"game":${gameMember},"files":[`;
    const first = covers.firstFile[row];
    let most = FIXED_BYTES + head.length * 3;
    for (let file = first; file !== LEFT_OUT; file = files.next[file]) most += mostBytes(file);
    target.reserve(most);
    const { buffer } = target;
    let end = target.at + buffer.write(head, target.at);
    for (let file = first; file !== LEFT_OUT; file = files.next[file]) {
      if (file !== first) buffer[end++] = COMMA;
      end = putFile(buffer, end, file);
      buffer[end++] = CLOSING_BRACE;
    }
    buffer[end++] = CLOSING_BRACKET;
    buffer[end++] = CLOSING_BRACE;
    target.at = end;
  };
}

/** The JSON of a text or null. */
function encodeText(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value.toWellFormed());
}

/** The JSON of a platform inside a game or a cover. */
function encodePlatformRef(slug: string, name: string): string {
  return `{"slug":"${slug}","name":${encodeText(name)}}`;
}

/** The address of a platform's page; the addresses of its games begin with it. */
export function platformUrl({ site_url, site_language }: Settings, slug: string): string {
  return `${site_url}/${site_language}/platform/${slug}`;
}

export function encodePlatform(
  slug: string,
  name: string,
  games: number,
  covers: number,
  url: string,
): string {
  return `{"slug":"${slug}","name":${encodeText(name)},"game_count":${games},"cover_count":${covers},"url":"${url}"}`;
}

const DAY_SECONDS = 86_400;
/** A cache of dates, since thousands of covers can be approved on one day. */
const dates = new Map<number, string>();

/** A time in RFC 3339, in UTC with whole seconds, or null for NaN. @param seconds since 1970 */
export function encodeTime(seconds: number): string | null {
  if (Number.isNaN(seconds)) return null;
  const day = Math.floor(seconds / DAY_SECONDS);
  let date = dates.get(day);
  if (date === undefined) {
    date = new Date(day * DAY_SECONDS * 1000).toISOString().slice(0, 11);
    dates.set(day, date);
  }
  const rest = seconds - day * DAY_SECONDS;
  const pad = (value: number) => (value < 10 ? `0${value}` : String(value));
  return `${date}${pad(Math.floor(rest / 3600))}:${pad(Math.floor(rest / 60) % 60)}:${pad(rest % 60)}Z`;
}
