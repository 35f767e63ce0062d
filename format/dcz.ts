/**
 * What both ends of a download agree on about differences between versions of a file: the new version,
 * compressed with zstd and the old version as the dictionary (RFC 9842, "dcz").
 */

/** In bytes. Of a larger file no difference is made, because both versions are held in memory. */
export const LARGEST_DCZ_FILE = 32 * 1024 * 1024;

/**
 * The bytes before the compressed data (RFC 9842, section 5).
 * @param sha256 of the dictionary, in hex
 */
export function dczHead(sha256: string): Buffer {
  return Buffer.from(`5e2a4d1820000000${sha256}`, 'hex');
}
