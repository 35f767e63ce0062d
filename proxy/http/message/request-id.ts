/**
 * The id of a request, by which an operator finds it in the access log. The client may choose it in
 * `X-Request-Id`. Invariant: an id is short, needs no escaping anywhere, and does not contain an API key.
 */
import { randomFillSync } from 'node:crypto';
import { KEY_PREFIX } from '../../../format/api-key.ts';

const SHAPE = /^[A-Za-z0-9._-]{1,64}$/;
/** What follows the prefix of a key is as secret as the key. */
const WITHOUT_PREFIX = /[0-9A-Za-z]{38}/;
/** The length of an id that is made here. */
const BYTES = 12;
/** Random bytes are made for this many ids at once: that takes a tenth of the time. */
const POOL = Buffer.alloc(BYTES * 256);

let used = POOL.length;

/** Whether a client may choose this id. */
export function isRequestId(text: string): boolean {
  return SHAPE.test(text) && !text.includes(KEY_PREFIX) && !WITHOUT_PREFIX.test(text);
}

/** @returns a random id of 24 hex digits */
export function makeRequestId(): string {
  if (used === POOL.length) {
    randomFillSync(POOL);
    used = 0;
  }
  used += BYTES;
  return POOL.toString('hex', used - BYTES, used);
}
