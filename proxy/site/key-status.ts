/**
 * /key-status/<SHA-256 of a key>: whether the API accepts the key, as JSON. The account pages ask this
 * before they show a new key, so that it works as soon as its owner copies it. No limit applies, because
 * a look-up costs less than any page. Nobody can guess the hash of a key.
 */
import { JSON_TYPE, type PreparedResponse } from '../http/message/response.ts';
import { isValid, type KeyTable } from '../keys/key-table.ts';
import { CLOSED, pageHeaders } from './page-policies.ts';

const PATH = /^\/key-status\/([0-9a-f]{64})$/;
const WORKS = prepare(true);
const DOES_NOT_WORK = prepare(false);

/** @returns undefined if the path is another one */
export function keyStatus(
  path: string,
  { byHash }: Pick<KeyTable, 'byHash'>,
): PreparedResponse | undefined {
  const hash = PATH.exec(path)?.[1];
  if (hash === undefined) return undefined;
  const key = byHash(hash);
  return key !== undefined && isValid(key) ? WORKS : DOES_NOT_WORK;
}

function prepare(works: boolean): PreparedResponse {
  const body = Buffer.from(JSON.stringify({ works }));
  const headers = [
    ...pageHeaders(JSON_TYPE, CLOSED),
    ...['Cache-Control', 'no-store', 'Content-Length', String(body.length)],
  ];
  return { head: { status: 200, headers }, headers: [], body };
}
