/**
 * The format of packs and of the list bodies that are made from them.
 *
 * A pack is a JSON array with one record per line. A response that lists records contains the same bytes
 * between another head and tail. A page of the games of one platform is therefore one contiguous read, and
 * nothing is serialised again.
 */

export const PACK_HEAD = '[\n';
export const RECORD_SEPARATOR = ',\n';
export const PACK_TAIL = '\n]\n';
/** In bytes: positions in a pack have 32 bits. */
export const LARGEST_PACK = 2 ** 32 - 1;
/** A pack without records. */
export const EMPTY_PACK = '[]\n';

/** How the record of a cover without files ends. */
export const END_WITHOUT_FILES = '"files":[]}';

/** The start of an array of `records` records, inside a body. */
export function arrayHead(records: number): string {
  return records === 0 ? '[' : '[\n';
}

export function arrayTail(records: number): string {
  return records === 0 ? ']' : '\n]';
}

/** The start of a list body of `records` records. */
export function listHead(records: number): string {
  return `{"data":${arrayHead(records)}`;
}

/** The end of an unpaginated list body. */
export function listTail(records: number): string {
  return `${arrayTail(records)}}`;
}

/** The number of pages for `total` records; 0 if there are no records. */
export function totalPages(total: number, perPage: number): number {
  return Math.ceil(total / perPage);
}

/** The tail of page `page`, which has `records` of `total` records. */
export function pageTail(records: number, page: number, perPage: number, total: number): string {
  return `${arrayTail(records)},"page":${page},"per_page":${perPage},"total":${total},"total_pages":${totalPages(total, perPage)}}`;
}

/** The text of a string in JSON. */
export function textOf(json: string): string {
  return json.includes('\\') ? JSON.parse(json) : json.slice(1, -1);
}

/** The title of a game, from its record. */
export function titleOfRecord(record: string): string {
  // A quote inside a text is escaped, so these are the names of members.
  const start = record.indexOf('","title":') + '","title":'.length;
  return textOf(record.slice(start, record.indexOf(',"release_year":', start)));
}
