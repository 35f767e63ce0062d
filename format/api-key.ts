/**
 * What a raw API key looks like: "cck_", 32 random base62 characters, then 6 base62 characters of
 * the CRC-32 of all that stands before. A mistyped key is told by its checksum, without a look-up.
 */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const PREFIX = 'cck_';
const RANDOM_CHARACTERS = 32;
const CHECKSUM_CHARACTERS = 6;
const SHAPE = /^cck_[0-9A-Za-z]{38}$/;

/** How much of a key is stored and shown: enough to tell one's keys apart. */
export const SHOWN_CHARACTERS = 8;

/** A new raw key. It is shown once and never stored. */
export function makeKey(): string {
  let body = PREFIX;
  for (let i = 0; i < RANDOM_CHARACTERS; i++) body += BASE62[randomInt(BASE62.length)];
  return body + checksum(body);
}

/** Whether a text has the shape of a key and its checksum holds. */
export function isWellFormedKey(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const end = text.length - CHECKSUM_CHARACTERS;
  return checksum(text.slice(0, end)) === text.slice(end);
}

/** The SHA-256 of a raw key, 64 hex digits: the only form in which keys are kept. */
export function hashKey(key: string): string {
  return hash('sha256', key);
}

function checksum(body: string): string {
  let rest = crc32(body);
  let digits = '';
  for (let i = 0; i < CHECKSUM_CHARACTERS; i++) {
    digits = BASE62[rest % 62] + digits;
    rest = Math.floor(rest / 62);
  }
  return digits;
}
