/** The checks of the certificate, the mail server and depots, with real servers. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { createServer, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterEach, expect, test, vi } from 'vitest';
import { certificate, mail } from '#cli/doctor/checks/network.ts';
import { makeFolder } from '#test/support/product.ts';
import { makeCertificate } from '#test/support/servers/certificate.ts';
import { startMailServer } from '#test/support/servers/mail-server.ts';
import { listenOn } from '#test/support/servers/sockets.ts';
import { examine } from './examine.ts';

const DAY_MS = 86_400_000;
const trusted = getCACertificates();
const folder = makeFolder();
const files = { cert: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') };

await makeCertificate('localhost', files.cert, files.key, 7);
const server = createServer({ cert: readFileSync(files.cert), key: readFileSync(files.key) });
const url = `https://localhost:${await listenOn(server)}`;
afterEach(() => {
  vi.restoreAllMocks();
  setDefaultCACertificates(trusted);
});

const ofCertificate = (address: string) => examine(certificate, { PUBLIC_URL: address }, ['proxy']);

test('a certificate that clients do not trust is an error', async () => {
  expect(await ofCertificate(url)).toMatchObject([
    { level: 'error', text: expect.stringContaining('DEPTH_ZERO_SELF_SIGNED_CERT') },
  ]);
});

test('an expired certificate is an error that says so', async () => {
  const now = Date.now();
  vi.spyOn(Date, 'now').mockReturnValue(now + 8 * DAY_MS);
  expect(await ofCertificate(url)).toMatchObject([
    {
      level: 'error',
      text: expect.stringMatching(/^The certificate of localhost:\d+ expired on /),
    },
  ]);
});

test('a trusted certificate that expires soon is a warning', async () => {
  setDefaultCACertificates([...trusted, readFileSync(files.cert, 'utf8')]);
  expect(await ofCertificate(url)).toMatchObject([
    { level: 'warning', text: expect.stringMatching(/expires in [67] days\.$/) },
  ]);
});

test('an address that cannot be reached is an error', async () => {
  // Nothing listens on port 1.
  expect(await ofCertificate('https://localhost:1')).toMatchObject([
    { level: 'error', text: expect.stringContaining('cannot be reached from here') },
  ]);
});

test('the mail server is signed in to and gets no mail', async () => {
  const mailServer = await startMailServer();
  const variables = { DATABASE_URL: 'sqlite:none.db', SMTP_URL: mailServer.url };
  expect(await examine(mail, variables)).toMatchObject([{ level: 'ok' }]);
  expect(mailServer.mails).toEqual([]);
  await mailServer.stop();
  expect(await examine(mail, variables)).toMatchObject([
    { level: 'error', text: expect.stringContaining('ECONNREFUSED') },
  ]);
});
