/** The mailer protects the password and the links in mails on their way to the mail server. */
import { expect, test } from 'vitest';
import { checkMailServer, isRefusal, makeMailer } from '#keys/mail/mailer.ts';
import { startMailServer } from '#test/support/servers/mail-server.ts';

const FROM = 'no-reply@covers.example';
const MAIL = {
  ...{ id: '1.1', to: 'somebody@covers.example', subject: 'News', text: 'Text.\n' },
  date: new Date(0),
};
const sendTo = (smtpUrl: string) => makeMailer({ smtpUrl, folder: '', from: FROM }).send(MAIL);
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
    await expect(checkMailServer(address)).rejects.toThrow('add ?insecure to SMTP_URL');
  }
  expect(server.mails).toEqual([]);
  for (const address of [`${url}?insecure`, server.url]) await sendTo(address);
  expect(server.mails).toHaveLength(2);
  await server.stop();
});
