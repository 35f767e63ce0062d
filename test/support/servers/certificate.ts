/** Certificates for servers of tests. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Writes a self-signed certificate of a host name and of localhost, and its key, to two files. */
export async function makeCertificate(
  name: string,
  certificate: string,
  key: string,
  days = 2,
): Promise<void> {
  await run('openssl', [
    ...['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'],
    ...['-days', String(days), '-subj', `/CN=${name}`],
    ...['-addext', `subjectAltName=DNS:${name},DNS:localhost`],
    ...['-keyout', key, '-out', certificate],
  ]);
}
