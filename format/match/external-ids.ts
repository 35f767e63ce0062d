/**
 * Ids that others have given to games: hashes of files, serials, numbers in other databases. One rule of
 * spelling per source serves the table `game_ids`, the parameter `ids`, and serials in file names.
 */

const HASHES = /^(?:crc32|md5|sha1|sha256)$/;
/** Some catalogues add the market, SLES-12345/ANZ, or have the id of a download, JP0425-NPJH50276_00-0001000200030004. */
const SERIAL =
  /^(?:[A-Z]{2}\d{4}-)?([A-Z]{2,4})[-_ ]?(\d{3})\.?(\d{2,3})(?:\/[A-Z]+|_\d\d-[0-9A-Z]+)?$/;
/** Sony's serials: SLUS-20851, and SLUS_208.51 in front of a title as the file on the disc has it. */
const SERIAL_IN_FRONT = /^([A-Z]{4})[-_ ]?(\d{3})\.?(\d{2})(?![0-9A-Za-z])[\s._-]*/;
const SERIAL_IN_BRACKETS = /\s*[[(]([A-Z]{4})[-_ ]?(\d{3})\.?(\d{2})[\])]/;

/** A text of the form `source:value`; undefined if it has another form. */
export function parseExternalId(text: string): { source: string; value: string } | undefined {
  const [, source, value] = /^([A-Za-z0-9_-]{1,32}):(.+)$/s.exec(text) ?? [];
  return source === undefined ? undefined : { source, value };
}

/** The spelling of an id by which it is found: `source:value`. */
export function externalIdKey(source: string, value: string): string {
  const name = source.trim().toLowerCase();
  const text = value.trim();
  if (name === 'serial') return `${name}:${text.toUpperCase().replace(SERIAL, '$1-$2$3')}`;
  return `${name}:${HASHES.test(name) ? text.toLowerCase() : text}`;
}

/** The serial in front of a file name or in brackets, and the rest of the name. */
export function serialIn(name: string): { value: string; rest: string } | undefined {
  for (const pattern of [SERIAL_IN_FRONT, SERIAL_IN_BRACKETS]) {
    const found = pattern.exec(name);
    if (found !== null)
      return {
        value: `${found[1]}-${found[2]}${found[3]}`,
        rest: name.replace(pattern, '').trim(),
      };
  }
  return undefined;
}
