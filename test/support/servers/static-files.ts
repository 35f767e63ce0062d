/** A plain nginx on loopback that serves the files of a folder. It ends with the test file. */
import { makeFolder } from '../product.ts';
import { runNginx } from './nginx.ts';
import { freePort } from './ports.ts';

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
  await runNginx(
    own,
    `worker_processes 1;
pid ${own}/nginx.pid;
${process.getuid?.() === 0 ? 'user root;' : ''}
events {}
http {
\taccess_log ${own}/access.log;
\tserver {
\t\tlisten 127.0.0.1:${port}${tls === undefined ? '' : ' ssl'};
${tls === undefined ? '' : `\t\tssl_certificate ${tls.certificate};\n\t\tssl_certificate_key ${tls.key};`}
\t\tlocation /snapshots/ { alias ${folder}/; }
\t}
}
`,
  );
  return `${tls === undefined ? 'http://127.0.0.1' : 'https://localhost'}:${port}/snapshots`;
}
