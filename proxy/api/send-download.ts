/**
 * Sends files of a generation. Downloads share the thread with all other requests, so there is a limit
 * on how many of them are sent at the same time.
 */
import { makeDownload } from '../downloads/download.ts';
import { makeDownloadSlots } from '../downloads/download-slots.ts';
import { CORS } from './resources/resource.ts';
import type { Download } from './routes/snapshot.ts';
import { ERRORS, ownHeaders, type Reply, sendError, sendPrepared } from './send.ts';

/** Per thread. A mirror has a few downloads at a time, and two of them may share a key. */
const SLOTS = { most: 100, perKey: 8, reserved: 40 };

/**
 * Sends a file, or 304 if the client already has it.
 * @returns the status, once the response has been sent or its client has left
 * @throws FileGoneError before the response begins, or the error that cut it off
 */
export type SendDownload = (reply: Reply, download: Download) => Promise<number>;

export function makeSendDownload(): SendDownload {
  const slots = makeDownloadSlots(SLOTS);

  async function send(reply: Reply, download: Download): Promise<number> {
    const {
      request: { head },
      response,
    } = reply;
    const made = makeDownload({ ...download, head, isHead: response.isHead }, CORS);
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
    if (!slots.take(key)) return sendError(reply, ERRORS.manyDownloads);
    try {
      return await send(reply, download);
    } finally {
      slots.free(key);
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
