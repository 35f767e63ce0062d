/**
 * A static web server for a folder that delays its replies and cuts some of them off: with ETags,
 * conditional requests and ranges, as nginx has them.
 */
import { createReadStream, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

export interface FaultyFiles {
  readonly url: string;
  /** How long a reply waits, in milliseconds; called for each. */
  delay: () => number;
  /** After how many bytes of the body the connection is cut; called for each. Undefined: not at all. */
  cutAfter: (path: string) => number | undefined;
  /** How many connections were cut, and how many bytes of bodies were sent. */
  readonly counts: { cuts: number; sent: number; requests: number };
  close(): Promise<void>;
}

export async function serveFaulty(folder: string): Promise<FaultyFiles> {
  const counts = { cuts: 0, sent: 0, requests: 0 };
  const server = createServer(async (request, response) => {
    counts.requests++;
    await pause(faulty.delay());
    const name = (request.url ?? '').slice('/snapshots/'.length);
    const file = path.join(folder, name);
    const stats = statSync(file, { throwIfNoEntry: false });
    if (!stats?.isFile()) return response.writeHead(404).end();
    const etag = `"${stats.mtimeMs.toString(16)}-${stats.size}-${stats.ino}"`;
    if (request.headers['if-none-match'] === etag) return response.writeHead(304, { etag }).end();
    const [, from] = /^bytes=(\d+)-$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(from ?? 0);
    const range = { 'content-range': `bytes ${start}-${stats.size - 1}/${stats.size}` };
    if (start >= stats.size && start > 0) return response.writeHead(416).end();
    response.writeHead(from === undefined ? 200 : 206, {
      etag,
      'content-length': stats.size - start,
      ...(from === undefined ? {} : range),
    });
    const cut = faulty.cutAfter(name);
    let sent = 0;
    for await (const piece of createReadStream(file, { start, highWaterMark: 4096 })) {
      if (cut !== undefined && sent >= cut) {
        counts.cuts++;
        request.socket.destroy();
        return;
      }
      sent += piece.length;
      counts.sent += piece.length;
      if (!response.write(piece)) await pause(1);
      if (response.destroyed) return;
    }
    return response.end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const faulty: FaultyFiles = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/snapshots`,
    delay: () => 0,
    cutAfter: () => undefined,
    counts,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return faulty;
}
