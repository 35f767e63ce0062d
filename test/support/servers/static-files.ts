/** A plain nginx on loopback that serves the files of a folder. It ends with the test file. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { atEndOfFile } from '../end-of-file.ts';
import { startTied } from '../processes.ts';
import { makeFolder, until } from '../product.ts';
import { freePort, listens } from './ports.ts';

/**
 * @param tls the files of the certificate of localhost and its key, to serve the folder over https
 * @returns the address of the folder, without a slash at its end
 */
export async function serveFolder(
  folder: string,
  tls?: { readonly certificate: string; readonly key: string },
): Promise<string> {
  const own = makeFolder();
  const port = await freePort();
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  mkdirSync(path.join(own, 'logs'));
  writeFileSync(
    path.join(own, 'nginx.conf'),
    `worker_processes 1;
pid ${own}/nginx.pid;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
${temporary.map((kind) => `\t${kind}_temp_path ${own}/${kind};`).join('\n')}
\taccess_log ${own}/access.log;
\tserver {
\t\tlisten 127.0.0.1:${port}${tls === undefined ? '' : ' ssl'};
${tls === undefined ? '' : `\t\tssl_certificate ${tls.certificate};\n\t\tssl_certificate_key ${tls.key};`}
\t\tlocation /snapshots/ { alias ${folder}/; }
\t}
}
`,
  );
  const command = ['nginx', '-p', own, '-c', `${own}/nginx.conf`, '-e', `${own}/error.log`];
  const server = await startTied([...command, '-g', 'daemon off;'], { output: 'pipe' });
  atEndOfFile(server.stop);
  await until(() => listens(port));
  return `${tls === undefined ? 'http://127.0.0.1' : 'https://localhost'}:${port}/snapshots`;
}
