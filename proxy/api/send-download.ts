/**
 * Sends files of a generation. Downloads share the thread with all other requests, so there is a limit
 * on how many of them are sent at the same time.
 */
import type { Logger } from 'pino';
import { makeDeltas } from '../downloads/deltas.ts';
import { makeDownload } from '../downloads/download.ts';
import { CORS } from './resources/resource.ts';
import type { Download } from './routes/snapshot.ts';
import { ERRORS, ownHeaders, type Reply, sendError, sendPrepared } from './send.ts';

/** Per thread. Each takes a piece of memory and, if its client is slow, a connection for a long time. */
const MOST_DOWNLOADS = 100;
/** Per thread, so that a client with one key cannot keep all others from downloading. */
const MOST_PER_KEY = 20;

/**
 * Sends a file, or 304 if the client already has it.
 * @returns the status, once the response has been sent or its client has left
 * @throws PackGoneError before the response begins, or the error that cut it off
 */
export type SendDownload = (reply: Reply, download: Download) => Promise<number>;

export function makeSendDownload(log: Logger): SendDownload {
  const findDelta = makeDeltas((error) =>
    log.warn({ err: error }, 'cannot make the difference between two versions of a file'),
  );
  let running = 0;
  /** How many downloads each raw key has under way. */
  const runningByKey = new Map<string, number>();

  async function send(reply: Reply, download: Download): Promise<number> {
    const {
      request: { head },
      response,
    } = reply;
    const request = { ...download, head, isHead: response.isHead };
    const made = await makeDownload(request, { findDelta, common: CORS });
    reply.snapshot = download.snapshot;
    if ('body' in made) sendPrepared(reply, made);
    else {
      const pieces = countBytes(made.pieces, reply);
      await response.sendPieces({ ...made, pieces }, ownHeaders(reply));
    }
    return made.head.status;
  }

  return async (reply, download) => {
    const { key = '' } = reply.request.head;
    const others = runningByKey.get(key) ?? 0;
    if (running >= MOST_DOWNLOADS || others >= MOST_PER_KEY) {
      return sendError(reply, ERRORS.manyDownloads);
    }
    running++;
    runningByKey.set(key, others + 1);
    try {
      return await send(reply, download);
    } finally {
      running--;
      const left = (runningByKey.get(key) ?? 0) - 1;
      if (left === 0) runningByKey.delete(key);
      else runningByKey.set(key, left);
    }
  };
}

/** Passes the pieces of a body on, and adds their lengths to the bytes that were sent. */
async function* countBytes(pieces: AsyncIterable<Buffer>, reply: Reply): AsyncGenerator<Buffer> {
  for await (const piece of pieces) {
    reply.bytes += piece.length;
    yield piece;
  }
}
