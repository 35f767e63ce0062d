/**
 * How deltas of files in a remote store are made: a file, compressed with zstd and another version of it as
 * the dictionary. Whoever has that version makes the file from the delta.
 */
import { constants } from 'node:zlib';

/** In bytes. No delta is made of a larger file, because making one needs both versions in memory. */
export const LARGEST_DELTA_FILE = 32 * 1024 * 1024;

/**
 * How a delta is compressed. With the default tables of its level, zstd finds too few matches in an
 * index of 11 MB: after one added game, the deltas of a real catalogue took 3.6 MB instead of 1.1 MB.
 * Level 9 takes a quarter more time for 6 % fewer bytes.
 */
export const DELTA_PARAMETERS = {
  [constants.ZSTD_c_compressionLevel]: 5,
  [constants.ZSTD_c_hashLog]: 22,
  [constants.ZSTD_c_chainLog]: 22,
  // How far back equal bytes may be: both versions together must fit.
  [constants.ZSTD_c_windowLog]: 26,
};
