/**
 * The format of a binary difference between two versions of a file, on which both ends of a download agree:
 * the new version, compressed with zstd and the old version as the dictionary (RFC 9842, "dcz").
 */
import { constants } from 'node:zlib';

/** In bytes. A larger file gets no difference, because making one holds both versions in memory. */
export const LARGEST_DCZ_FILE = 32 * 1024 * 1024;

/**
 * The bytes before the compressed data (RFC 9842, section 5).
 * @param sha256 of the dictionary, in hex
 */
export function dczHead(sha256: string): Buffer {
  return Buffer.from(`5e2a4d1820000000${sha256}`, 'hex');
}

/**
 * How a difference is compressed. With the default tables of its level, zstd finds too few matches in an
 * index of 11 MB: after one added game, the differences of a real catalogue took 3.6 MB instead of 1.1 MB.
 * Level 9 takes a quarter more time for 6 % fewer bytes.
 */
export const DIFFERENCE_PARAMETERS = {
  [constants.ZSTD_c_compressionLevel]: 5,
  [constants.ZSTD_c_hashLog]: 22,
  [constants.ZSTD_c_chainLog]: 22,
  // How far back equal bytes may be: both versions together must fit.
  [constants.ZSTD_c_windowLog]: 26,
};
