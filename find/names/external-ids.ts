/**
 * Ids that others have given to games: hashes of files, serials, numbers in other databases. One rule of
 * spelling per source serves the table `game_ids` and the parameter `ids`.
 */
import { numberAt } from '../../lib/columns/numbers.ts';
import { entriesAt, findText, type Postings } from '../../lib/columns/postings.ts';

const HASHES = /^(?:crc32|md5|sha1|sha256)$/;
/** Some catalogues add the market, SLES-12345/ANZ, or have the id of a download, JP0425-NPJH50276_00-0001000200030004. */
const SERIAL = new RegExp(
  String.raw`^(?:[A-Z]{2}\d{4}-)?${serialPattern('2,4', '2,3')}(?:\/[A-Z]+|_\d\d-[0-9A-Z]+)?$`,
);
/** How a serial is spelt from the groups of {@link serialPattern}. */
const SPELLING = '$1-$2$3';

/**
 * The pattern of a serial, SLUS-20851 or SLUS_208.51, in three groups.
 * @param letters how many letters it has, and `end` how many digits after the first three
 */
export function serialPattern(letters: string, end: string): string {
  return String.raw`([A-Z]{${letters}})[-_ ]?(\d{3})\.?(\d{${end}})`;
}

/** A text of the form `source:value`; undefined if it has another form. */
export function parseExternalId(text: string): { source: string; value: string } | undefined {
  const [, source, value] = /^([A-Za-z0-9_-]{1,32}):(.+)$/s.exec(text) ?? [];
  return source === undefined ? undefined : { source, value };
}

/** The spelling of an id by which it is found: `source:value`. */
export function externalIdKey(source: string, value: string): string {
  const name = source.trim().toLowerCase();
  const text = value.trim();
  if (name === 'serial') return `${name}:${text.toUpperCase().replace(SERIAL, SPELLING)}`;
  return `${name}:${HASHES.test(name) ? text.toLowerCase() : text}`;
}

/** The numbers that have an id of another source, as it is written in a request. */
export function numbersWithId<N extends number>(ids: Postings, text: string): N[] {
  const id = parseExternalId(text);
  const index = id === undefined ? -1 : findText(ids, externalIdKey(id.source, id.value));
  return index < 0 ? [] : Array.from(entriesAt(ids, index), numberAt<N>);
}
