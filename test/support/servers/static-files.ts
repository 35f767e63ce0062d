/** Servers on loopback for one test file, with which they end: a plain nginx, and one that a test writes. */
import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeFolder } from '#test/support/product.ts';
import { runNginx } from './nginx.ts';
import { freePort } from './ports.ts';

/** @returns the address of the folder, without a slash at its end */
export async function serveFolder(folder: string): Promise<string> {
  const own = makeFolder();
  const port = await freePort();
  await runNginx(
    own,
    `worker_processes 1;
pid ${own}/nginx.pid;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
\taccess_log ${own}/access.log;
\tserver {
\t\tlisten 127.0.0.1:${port};
\t\tlocation /snapshots/ { alias ${folder}/; }
\t}
}
`,
  );
  return `http://127.0.0.1:${port}/snapshots`;
}

/** @returns the address of a server, without a slash at its end */
export async function serve(answer: RequestListener): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  atEndOfFile(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
