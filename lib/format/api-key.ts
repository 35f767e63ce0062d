/**
 * The states of an API key and the form of a raw key: "cck_", 32 random base62 characters, then a
 * checksum of 6 base62 characters, which is the CRC-32 of everything before it. The checksum reveals a
 * mistyped key without a look-up.
 */
import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
export const KEY_PREFIX = 'cck_';
const RANDOM_CHARACTERS = 32;
const CHECKSUM_CHARACTERS = 6;
/** What follows the prefix of a key, which is as secret as the key. */
export const KEY_BODY = /[0-9A-Za-z]{38}/;
const SHAPE = new RegExp(`^${KEY_PREFIX}${KEY_BODY.source}$`);

/**
 * A key is pending until a moderator approves or rejects it, or its owner withdraws the request. An
 * approved one can be revoked permanently. A request for a higher limit never becomes a key: once it is
 * approved, it is granted.
 */
export const KEY_STATES = [
  'pending',
  'approved',
  'granted',
  'rejected',
  'withdrawn',
  'revoked',
] as const;
export type KeyState = (typeof KEY_STATES)[number];

/** How many leading characters of a key are stored and shown: enough to tell an owner's keys apart. */
export const SHOWN_CHARACTERS = 8;

/** @returns a new raw key, which is shown once and never stored */
export function makeKey(): string {
  let body = KEY_PREFIX;
  for (let i = 0; i < RANDOM_CHARACTERS; i++) body += BASE62[randomInt(BASE62.length)];
  return body + checksum(body);
}

/** Whether a text has the form of a key and the right checksum. */
export function isWellFormedKey(text: string): boolean {
  if (!SHAPE.test(text)) return false;
  const end = text.length - CHECKSUM_CHARACTERS;
  return checksum(text.slice(0, end)) === text.slice(end);
}

/** The SHA-256 of a raw key as 64 hex digits. Keys are stored only in this form. */
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
