/** Reads `Range` and `If-Range` for single byte ranges (RFC 9110, sections 13.1.5 and 14). */

/** The part of a body that is wanted. */
export type WantedRange =
  | 'whole'
  | 'unsatisfiable'
  | {
      readonly from: number;
      /** Exclusive. */
      readonly to: number;
    };

/**
 * A field that is malformed or names several ranges counts as absent: a server may always answer with
 * the whole body.
 * @param etag the ETag of the body as it is, without compression
 * @param size of the body, in bytes
 */
export function readRange(
  range: string | undefined,
  ifRange: string | undefined,
  etag: string,
  size: number,
): WantedRange {
  const [, first, last] = /^bytes=[ \t]*(\d{0,15})-(\d{0,15})$/i.exec(range?.trim() ?? '') ?? [];
  if (first === undefined || last === undefined || first + last === '') return 'whole';
  // Also if it is a date: only an ETag proves that the parts fit together.
  if (ifRange !== undefined && ifRange !== etag) return 'whole';
  if (first === '') {
    const length = Math.min(size, Number(last));
    return length === 0 ? 'unsatisfiable' : { from: size - length, to: size };
  }
  if (last !== '' && Number(last) < Number(first)) return 'whole';
  if (Number(first) >= size) return 'unsatisfiable';
  return { from: Number(first), to: last === '' ? size : Math.min(size, Number(last) + 1) };
}
