/** What the installation uses over the network: the mail server, and the certificate of its address. */
import { once } from 'node:events';
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { checkMailServer } from '../../../keys/mail/mailer.ts';
import { messageOf } from '../../../lib/program/failure.ts';
import { type Check, requireValue } from '../check.ts';

const DAY_MS = 86_400_000;
/** Let's Encrypt renews certificates 30 days before they expire. */
const SOON_DAYS = 14;

/** Connects and signs in; nothing is sent. */
export const mail: Check = {
  name: 'mail server',
  programs: ['account'],
  fix: 'Try the same address: openssl s_client -starttls smtp -connect HOST:PORT. Then correct SMTP_URL in .env.',
  async run(context, { ok, warn, error }) {
    const smtpUrl = requireValue(context, 'SMTP_URL');
    if (smtpUrl === '') {
      warn(
        'SMTP_URL is not set: e-mails are written to files, and nobody receives them.',
        'Set SMTP_URL to your mail server.',
      );
      return;
    }
    const { host } = new URL(smtpUrl);
    try {
      await checkMailServer({ smtpUrl, from: requireValue(context, 'MAIL_FROM') });
      ok(`The mail server ${host} answers and accepts the login.`);
    } catch (cause) {
      error(
        `The mail server ${host} cannot be used: ${messageOf(cause)}.`,
        'Correct SMTP_URL: user and password (special characters percent-encoded), host, and port, which is 465 with smtps:// and 587 with smtp://.',
      );
    }
  },
};

export const certificate: Check = {
  name: 'certificate',
  programs: ['proxy', 'account'],
  fix: 'Look at it: openssl s_client -connect HOST:443 < /dev/null. Renew it with: certbot renew',
  async run(context, { ok, warn, error }) {
    const url = new URL(requireValue(context, 'PUBLIC_URL'));
    if (url.protocol !== 'https:') {
      ok('PUBLIC_URL is not an https address, so there is no certificate.');
      return;
    }
    let socket: TLSSocket;
    try {
      socket = await openTls(url);
    } catch (cause) {
      error(
        `${url.host} cannot be reached from here: ${messageOf(cause)}.`,
        'Check the name in DNS, nginx, and the firewall. Some networks cannot reach their own public address; then try it from another machine.',
      );
      return;
    }
    const { valid_to } = socket.getPeerCertificate();
    const refusal = socket.authorized ? undefined : socket.authorizationError;
    socket.destroy();
    const days = Math.floor((Date.parse(valid_to) - Date.now()) / DAY_MS);
    const renew = 'Renew the certificate (certbot renew), and reload nginx.';
    if (days < 0) error(`The certificate of ${url.host} expired on ${valid_to}.`, renew);
    else if (refusal) {
      error(
        `Clients refuse the certificate of ${url.host}: ${refusal}.`,
        'Install a certificate for this name, with its whole chain (fullchain.pem).',
      );
    } else if (days < SOON_DAYS) {
      warn(`The certificate of ${url.host} expires in ${days} days.`, renew);
    } else ok(`The certificate of ${url.host} is valid for ${days} days.`);
  },
};

/** Connects even if the certificate is not valid, to find out why. */
async function openTls({ hostname, port }: URL): Promise<TLSSocket> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  const servername = isIP(host) === 0 ? host : '';
  const options = { host, port: Number(port || 443), servername, rejectUnauthorized: false };
  const socket = connect(options);
  await once(socket, 'secureConnect');
  return socket;
}
