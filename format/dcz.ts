/**
 * What both ends of a download agree on about differences between versions of a file: the new version,
 * compressed with zstd and the old version as the dictionary (RFC 9842, "dcz").
 */
import { constants } from 'node:zlib';

/** In bytes. Of a larger file no difference is made, because both versions are held in memory. */
export const LARGEST_DCZ_FILE = 32 * 1024 * 1024;

/**
 * The bytes before the compressed data (RFC 9842, section 5).
 * @param sha256 of the dictionary, in hex
 */
export function dczHead(sha256: string): Buffer {
  return Buffer.from(`5e2a4d1820000000${sha256}`, 'hex');
}

/**
 * How a difference is compressed. With the tables of its own level, zstd finds too little of what is equal in an index of 11 MB: after
 * one added game, the differences of the real catalogue had 3.6 MB instead of 1.1 MB.
 */
export const DIFFERENCE_PARAMETERS = {
  [constants.ZSTD_c_compressionLevel]: 9,
  [constants.ZSTD_c_hashLog]: 22,
  [constants.ZSTD_c_chainLog]: 22,
  // How far back equal bytes may be: both versions together must fit.
  [constants.ZSTD_c_windowLog]: 26,
};
