/**
 * The id of a request, by which an operator finds it in the access log. The client may choose it in
 * `X-Request-Id`. Invariant: an id is short, needs no escaping anywhere, and does not contain an API key.
 */
import { randomBytes } from 'node:crypto';
import { KEY_PREFIX } from '../../../format/api-key.ts';

const SHAPE = /^[A-Za-z0-9._-]{1,64}$/;
/** What follows the prefix of a key is as secret as the key. */
const WITHOUT_PREFIX = /[0-9A-Za-z]{38}/;
/** In hex digits. */
const LENGTH = 24;
/** Ids are made in batches of this many. Each alone would take several times as long. */
const BATCH = 256;

/** The digits of a batch of ids, and how many of them were used. */
let digits = '';
let used = 0;

/** Whether a client may choose this id. */
export function isRequestId(text: string): boolean {
  return SHAPE.test(text) && !text.includes(KEY_PREFIX) && !WITHOUT_PREFIX.test(text);
}

/** @returns a random id of 24 hex digits */
export function makeRequestId(): string {
  if (used === digits.length) {
    digits = randomBytes((BATCH * LENGTH) / 2).toString('hex');
    used = 0;
  }
  used += LENGTH;
  return digits.slice(used - LENGTH, used);
}
