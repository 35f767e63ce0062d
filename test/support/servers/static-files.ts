import { createServer, type RequestListener } from 'node:http';
import { makeFolder } from '#test/support/product.ts';
import { runNginx } from './nginx.ts';
import { freePort } from './ports.ts';
import { listenOn } from './sockets.ts';

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
  return `http://127.0.0.1:${await listenOn(createServer(answer))}`;
}
