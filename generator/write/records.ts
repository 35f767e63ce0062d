/**
 * The JSON of each record, member by member in the order of the contract. JSON.stringify cannot write it:
 * ids beyond 2^53 must stay exact, and a record is assembled from the rows of several tables.
 *
 * While a run reads, it keeps only the values of a row: their JSON, each ended by a byte that JSON cannot
 * have. This takes half of the memory of the records.
 */
import type { Row, Value } from '../../database/database.ts';
import type { Settings } from '../../format/manifest.ts';
import { openTexts, type RecordTexts, type TextWriter } from '../read/catalogue.ts';
import { checkOptionalCount, checkOptionalText, noteDamage } from '../read/row-checks.ts';
import type { Note } from '../report/row-fault.ts';
import { mostBytes, putAscii, putBytes, putInteger, putText } from './json-bytes.ts';

/** The columns of each table, in the order in which its functions read them. */
export const GAME_COLUMNS =
  'id, platform_id, slug, title, release_year, description, genres, developer, publisher';
export const COVER_COLUMNS = 'id, game_id, region, type, status, approved_at';
export const FILE_COLUMNS = 'id, cover_id, variant, mime_type, width, height, size_bytes, path';

/** Ends each value in memory. */
const END_OF_VALUE = 0;
/** Begins the address of a file that is relative to FILES_URL. */
const RELATIVE = 1;
/** More bytes than the names, numbers and punctuation of any record take. */
export const FIXED_BYTES = 256;

/** Before each value: the name of its member, with the punctuation around it. */
const BEFORE_GAME_VALUE = membersOf(
  'id',
  'slug',
  'title',
  'release_year',
  'description',
  'genres',
  'developer',
  'publisher',
);
const BEFORE_FILE_VALUE = membersOf('id', 'variant', 'mime_type', 'width', 'height', 'size_bytes');
const BEFORE_URL = Buffer.from(',"url":"');

function membersOf(...names: string[]): Buffer[] {
  return names.map((name, at) => Buffer.from(`${at === 0 ? '{' : ','}"${name}":`));
}

/**
 * Adds the values of a game from `id` to `publisher`. The caller has checked the id, slug, title and year.
 * @param row the values of {@link GAME_COLUMNS}
 */
export function addGame(
  texts: TextWriter,
  target: Omit<RecordTexts, 'texts'>,
  index: number,
  row: Row,
  note: Note,
): void {
  const position = texts.reserve(mostOfRow(row));
  const { buffer, at } = texts;
  let end = putCount(buffer, at, row[0], 'id');
  end = putTextValue(buffer, end, row[2], 'slug', note);
  end = putTextValue(buffer, end, row[3], 'title', note);
  end = putCount(buffer, end, row[4], 'release_year', true);
  end = putTextValue(buffer, end, row[5], 'description', note);
  end = putTextValue(buffer, end, row[6], 'genres', note);
  end = putTextValue(buffer, end, row[7], 'developer', note);
  end = putTextValue(buffer, end, row[8], 'publisher', note);
  target.position[index] = position;
  target.length[index] = end - at;
  texts.at = end;
}

/**
 * Adds the values of a file. The caller has checked the id.
 * @param row the values of {@link FILE_COLUMNS} @param url see {@link relativeUrl}
 */
export function addFile(
  texts: TextWriter,
  target: Omit<RecordTexts, 'texts'>,
  index: number,
  row: Row,
  url: string,
  filesUrl: string,
  note: Note,
): void {
  const position = texts.reserve(mostOfRow(row) + mostBytes(url.length));
  const { buffer, at } = texts;
  let end = putCount(buffer, at, row[0], 'id');
  end = putTextValue(buffer, end, row[2], 'variant', note);
  end = putTextValue(buffer, end, row[3], 'mime_type', note);
  end = putCount(buffer, end, row[4], 'width');
  end = putCount(buffer, end, row[5], 'height');
  end = putCount(buffer, end, row[6], 'size_bytes');
  // An address is in ASCII, and JSON escapes none of its characters.
  if (url.startsWith(filesUrl)) {
    buffer[end++] = RELATIVE;
    end = putAscii(buffer, end, url, filesUrl.length);
  } else {
    end = putAscii(buffer, end, url);
  }
  target.position[index] = position;
  target.length[index] = end - at;
  texts.at = end;
}

function putCount(
  target: Buffer,
  at: number,
  value: Value,
  name: string,
  isChecked = false,
): number {
  const end = putInteger(target, at, isChecked ? value : checkOptionalCount(value, name));
  target[end] = END_OF_VALUE;
  return end + 1;
}

/** Writes a text, or null for a text that is unknown (null or empty). */
function putTextValue(target: Buffer, at: number, value: Value, name: string, note: Note): number {
  const text = checkOptionalText(value, name);
  noteDamage(text, name, note);
  const end = putText(target, at, text);
  target[end] = END_OF_VALUE;
  return end + 1;
}

/** The most bytes that the JSON of a row can take. */
function mostOfRow(row: Row): number {
  let codeUnits = 0;
  for (const value of row) if (typeof value === 'string') codeUnits += value.length;
  return FIXED_BYTES + mostBytes(codeUnits);
}

/** Copies a value up to its end. @returns the position after it in `target` */
function putValue(target: Buffer, at: number, source: Buffer, from: number): number {
  let end = at;
  for (let byte = source[from]; byte !== END_OF_VALUE; byte = source[++from]) target[end++] = byte;
  return end;
}

/** Writes the records of games and files from their values. The caller reserves `FIXED_BYTES` for each. */
export function makeRecordWriter({ texts, position, length }: RecordTexts) {
  const { blockOf, indexOf } = openTexts(texts);

  function putMembers(target: Buffer, at: number, row: number, before: readonly Buffer[]) {
    const source = blockOf(position[row]);
    let from = indexOf(position[row]);
    let end = at;
    for (const name of before) {
      end = putBytes(target, end, name);
      for (let byte = source[from++]; byte !== END_OF_VALUE; byte = source[from++])
        target[end++] = byte;
    }
    return { end, source, from };
  }

  /** Where the value of the slug, or of the title, starts. */
  function slugAt(row: number): number {
    const source = blockOf(position[row]);
    return source.indexOf(END_OF_VALUE, indexOf(position[row])) + 1;
  }
  function valueAt(row: number, start: number): [source: Buffer, start: number, end: number] {
    const source = blockOf(position[row]);
    return [source, start, source.indexOf(END_OF_VALUE, start)];
  }
  const slugBytes = (row: number) => valueAt(row, slugAt(row));
  const titleBytes = (row: number) => valueAt(row, slugBytes(row)[2] + 1);

  return {
    lengthOf: (row: number) => length[row],
    /** Writes the record of a game up to `publisher`. @returns the position after it */
    putGame: (target: Buffer, at: number, row: number) =>
      putMembers(target, at, row, BEFORE_GAME_VALUE).end,
    /** Writes the JSON of a file inside a cover. @returns the position after it */
    putFile(target: Buffer, at: number, row: number, filesUrl: Buffer): number {
      let { end, source, from } = putMembers(target, at, row, BEFORE_FILE_VALUE);
      end = putBytes(target, end, BEFORE_URL);
      const urlEnd = indexOf(position[row]) + length[row];
      if (source[from] === RELATIVE) {
        end = putBytes(target, end, filesUrl);
        from++;
      }
      end = putBytes(target, end, source, from, urlEnd);
      target[end++] = 0x22;
      target[end++] = 0x7d;
      return end;
    },
    /** Writes the slug of a game without quotes. */
    putSlug(target: Buffer, at: number, row: number): number {
      const [source, start, end] = slugBytes(row);
      return putBytes(target, at, source, start + 1, end - 1);
    },
    /** Writes the slug and the title of a game, the members with which a cover names its game. */
    putSlugAndTitle(target: Buffer, at: number, row: number): number {
      const source = blockOf(position[row]);
      const slug = slugAt(row);
      let end = putAscii(target, at, '{"slug":');
      end = putValue(target, end, source, slug);
      end = putAscii(target, end, ',"title":');
      return putValue(target, end, source, source.indexOf(END_OF_VALUE, slug) + 1);
    },
    slug(row: number): string {
      const [source, start, end] = slugBytes(row);
      return source.toString('latin1', start + 1, end - 1);
    },
    title(row: number): string {
      const [source, start, end] = titleBytes(row);
      return textOf(source.toString('utf8', start, end));
    },
  };
}
export type RecordWriter = ReturnType<typeof makeRecordWriter>;

/** The text of a string in JSON. */
function textOf(json: string): string {
  return json.includes('\\') ? JSON.parse(json) : json.slice(1, -1);
}

/** The title of a game, from its record. */
export function titleOf(record: string): string {
  // A quote inside a text is escaped, so these are the names of members.
  const start = record.indexOf('","title":') + '","title":'.length;
  return textOf(record.slice(start, record.indexOf(',"release_year":', start)));
}

/** The JSON of a text or null. */
export function encodeText(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value.toWellFormed());
}

/** The JSON of a platform inside a game or a cover. */
export function encodePlatformRef(slug: string, name: string): string {
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
