/**
 * The values of a row for its record: their JSON, each ended by a byte that JSON cannot have. This takes half of
 * the memory of records, which `rows/records.ts` makes of them.
 */
import type { Row, Value } from '../../lib/database/database.ts';
import { encodeText, FILES_URL } from '../rows/records.ts';
import { checkOptionalCount, checkOptionalText, type Note, noteOddText } from './row-checks.ts';

/** The columns of each table, in the order in which its functions read them. */
export const GAME_COLUMNS =
  'id, platform_id, slug, title, release_year, description, genres, developer, publisher';
export const COVER_COLUMNS = 'id, game_id, region, type, status, approved_at';
export const FILE_COLUMNS = 'id, cover_id, variant, mime_type, width, height, size_bytes, path';

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
  const variant = textValue(row[2], 'variant', note);
  const mimeType = textValue(row[3], 'mime_type', note);
  const width = checkOptionalCount(row[4], 'width');
  const height = checkOptionalCount(row[5], 'height');
  const size = checkOptionalCount(row[6], 'size_bytes');
  const address = url.startsWith(filesUrl)
    ? `"${FILES_URL}${encodeText(url.slice(filesUrl.length)).slice(1)}`
    : encodeText(url);
  return `${row[0]}\0${variant}\0${mimeType}\0${width}\0${height}\0${size}\0${address}\0`;
}

/** The JSON of a text, or null for a text that is unknown (null or empty). */
function textValue(value: Value, name: string, note: Note): string {
  const text = checkOptionalText(value, name);
  noteOddText(text, name, note);
  return encodeText(text);
}
