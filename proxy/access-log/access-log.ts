/**
 * The access log of one serving thread: chooses the requests that are logged, and makes a line of JSON of
 * each. Invariant: no line contains an API key.
 */
import type { BlockList } from 'node:net';
import { fullClientAddress } from '../../program/client-address.ts';
import type { LogAccess } from '../api/answers.ts';
import { showTarget } from './shown-target.ts';

const FIRST_ERROR = 400;

/**
 * @param sample which requests are logged: all with an error, or this share of all
 * @param add takes a line, with its line feed
 */
export function makeAccessLog(
  sample: 'errors' | number,
  trustedProxies: BlockList,
  add: (line: string) => void,
): LogAccess {
  const isWanted =
    sample === 'errors'
      ? (status: number) => status >= FIRST_ERROR
      : () => sample === 1 || Math.random() < sample;

  return (reply, route, status, milliseconds) => {
    if (!isWanted(status)) return;
    const { request, id, key, refusal, bytes, snapshot } = reply;
    const { socket, head, method } = request;
    const address = fullClientAddress(socket.remoteAddress, head.forwardedFor, trustedProxies);
    const { path, query } = showTarget(request.target);
    // By hand: `JSON.stringify` of an object takes three times as long. Only the texts that clients
    // choose freely can need escaping.
    add(
      `{"time":"${timeOf(Date.now())}","id":"${id}","address":${textOrNull(address)},` +
        `"key":${key?.id ?? null},"method":${JSON.stringify(method)},"route":"${route}",` +
        `"path":${JSON.stringify(path)},"query":${query === '' ? null : JSON.stringify(query)},` +
        `"status":${status},"refusal":${textOrNull(refusal)},"bytes":${bytes},` +
        `"duration_ms":${Math.round(milliseconds * 1000) / 1000},"snapshot":${textOrNull(snapshot)}}\n`,
    );
  };
}

/** @param text without characters that need escaping */
function textOrNull(text: string | undefined): string {
  return text === undefined || text === '' ? 'null' : `"${text}"`;
}

let second = 0;
let secondText = '';

/** A time in UTC, as `toISOString` writes it. Most of the text is made once per second. */
function timeOf(now: number): string {
  const milliseconds = now % 1000;
  if (now - milliseconds !== second) {
    second = now - milliseconds;
    secondText = new Date(second).toISOString().slice(0, -4);
  }
  return `${secondText}${String(milliseconds).padStart(3, '0')}Z`;
}
