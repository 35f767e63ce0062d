/**
 * The mailer protects the password and the links in mails on their way to the mail server, and writes mails that
 * every server accepts.
 */
import { readFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { type AddressInfo, createServer } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { checkMailServer, isRefusal, makeMailer } from '#keys/mail/mailer.ts';
import { makeFolder } from '#test/support/product.ts';
import { readMail, startMailServer } from '#test/support/servers/mail-server.ts';

const FROM = 'no-reply@covers.example';
const MAIL = {
  ...{ id: '1.1', to: 'somebody@covers.example', subject: 'News', text: 'Text.\n' },
  date: new Date(0),
};
const sendTo = (smtpUrl: string) => makeMailer({ smtpUrl, folder: '', from: FROM }).send(MAIL);
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});
/** The same server, by an address that is not one of loopback. */
const elsewhere = (url: string) => url.replace('127.0.0.1', '0.0.0.0');

test('nothing is sent without TLS to another machine, unless the address says so', async () => {
  const server = await startMailServer();
  const url = elsewhere(server.url);
  for (const address of [url, `${url}?requireTLS=false&ignoreTLS=true`, `${url}?insecure=false`]) {
    const error = await sendTo(address).catch((thrown) => thrown);
    expect(error.message).toContain('add ?insecure to SMTP_URL');
    // The next mail would fare the same.
    expect(isRefusal(error)).toBe(false);
    await expect(checkMailServer({ smtpUrl: address, from: FROM })).rejects.toThrow(
      'add ?insecure to SMTP_URL',
    );
  }
  expect(server.mails).toEqual([]);
  for (const address of [`${url}?insecure`, server.url]) await sendTo(address);
  expect(server.mails).toHaveLength(2);
  await server.stop();
});

test('a server that never ends a reply, but is never silent, gets a limited time', async () => {
  const ended = Promise.withResolvers<unknown>();
  const server = createServer((socket) => {
    socket.write('220 mail.example\r\n');
    socket.once('data', () => socket.write('250-'));
    const drip = setInterval(() => socket.write('x'), 1);
    socket
      .on('error', () => {})
      .once('close', () => {
        clearInterval(drip);
        ended.resolve('ended');
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const settings = { smtpUrl: `smtp://127.0.0.1:${port}`, folder: '', from: FROM };
  const error = await makeMailer(settings, 50)
    .send(MAIL)
    .catch((thrown) => thrown);
  expect(error.message).toContain('The mail server is too slow');
  // The next mail would fare the same.
  expect(isRefusal(error)).toBe(false);
  expect(await ended.promise).toBe('ended');
  server.close();
});

test.each([
  ['covers', 'Covers <no-reply@bücher.example>', 'xn--bcher-kva.example'],
  ['covers', 'no-reply@localhost', '[127.0.0.1]'],
  ['mail.covers.example', 'no-reply@bücher.example', 'mail.covers.example'],
])(
  'a machine called %s with the sender %s introduces itself as %s',
  async (machine, from, name) => {
    vi.spyOn(os, 'hostname').mockReturnValue(machine);
    syncBuiltinESMExports();
    const server = await startMailServer();
    await makeMailer({ smtpUrl: server.url, folder: '', from }).send(MAIL);
    expect(server.mails).toMatchObject([{ client: name }]);
    await server.stop();
  },
);

test('a mail has domains in Punycode only, and no line that is too long', async () => {
  const server = await startMailServer();
  const folder = makeFolder();
  const from = 'Covers <no-reply@bücher.example>';
  const mail = { ...MAIL, to: 'olaf@stücke.example', text: `${'long'.repeat(1000)}\n` };
  for (const smtpUrl of [server.url, '']) await makeMailer({ smtpUrl, folder, from }).send(mail);
  const sources = [
    server.mails[0]?.source ?? '',
    readFileSync(path.join(folder, '1.1.eml'), 'utf8').replaceAll('\r\n', '\n'),
  ];
  for (const source of sources) {
    expect(source).not.toMatch(/bücher|stücke/);
    expect(source).toContain('Message-ID: <1.1@xn--bcher-kva.example>\n');
    const lengths = source.split('\n').map((line) => Buffer.byteLength(line));
    expect(Math.max(...lengths)).toBeLessThanOrEqual(998);
    expect(readMail(source)).toContain(`\n\n${mail.text}`);
  }
  await server.stop();
});
