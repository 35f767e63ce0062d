/**
 * The access log of one serving thread: chooses the requests that are logged, and makes a line of JSON of
 * each. The lines are handed on in batches, so that a request only appends to a text. Invariant: no line
 * contains an API key.
 */
import type { BlockList } from 'node:net';
import { fullClientAddress } from '../../../lib/program/client-address.ts';
import type { LogAccess } from '../../api/handler.ts';
import { showMethod, showTarget } from './shown-target.ts';

const FIRST_ERROR = 400;

/** A batch is handed on after this time, or when it has this many characters. */
const LONGEST_WAIT_MS = 200;
const BATCH = 64 * 1024;

/**
 * @param sample which requests are logged: all with an error, or this share of all
 * @param handOn takes whole lines
 */
export function makeAccessLog(
  sample: 'errors' | number,
  trustedProxies: BlockList,
  handOn: (lines: string) => void,
) {
  const isWanted =
    sample === 'errors'
      ? (status: number) => status >= FIRST_ERROR
      : () => sample === 1 || Math.random() < sample;
  let lines = '';
  let timer: NodeJS.Timeout | undefined;

  /** Hands on the lines that wait. */
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    if (lines !== '') handOn(lines);
    lines = '';
  }

  const log: LogAccess = (reply, status, milliseconds) => {
    if (!isWanted(status)) return;
    const { id, key, request, route, refusal, bytes, snapshot } = reply;
    const { socket, head, method } = request;
    const { path, query } = showTarget(request.target);
    const line = {
      time: new Date(),
      id,
      address: fullClientAddress(socket.remoteAddress, head.forwardedFor, trustedProxies) || null,
      key: key?.id ?? null,
      method: showMethod(method),
      route,
      path,
      query: query || null,
      status,
      refusal: refusal ?? null,
      bytes,
      duration_ms: Math.round(milliseconds * 1000) / 1000,
      snapshot: snapshot ?? null,
    };
    lines += `${JSON.stringify(line)}\n`;
    if (lines.length >= BATCH) flush();
    else timer ??= setTimeout(flush, LONGEST_WAIT_MS);
  };
  return { log, flush };
}
