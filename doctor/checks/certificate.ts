/** The TLS certificate at PUBLIC_URL: whether clients accept it, and for how long. */
import { isIP } from 'node:net';
import { connect, type TLSSocket } from 'node:tls';
import { messageOf } from '../../program/failure.ts';
import { type Check, requireValue } from '../findings/check.ts';

const CONNECT_MS = 5_000;
const DAY_MS = 86_400_000;
/** Let's Encrypt renews certificates 30 days before they expire. */
const SOON_DAYS = 14;
const RENEW =
  'Renew the certificate, and reload nginx. Does the renewal still run (certbot renew --dry-run)?';

export const certificate: Check = {
  name: 'certificate',
  programs: ['proxy', 'account'],
  async run(scene, { ok, warn, error }) {
    const url = new URL(requireValue(scene, 'PUBLIC_URL'));
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
    if (days < 0) error(`The certificate of ${url.host} expired on ${valid_to}.`, RENEW);
    else if (refusal) {
      error(
        `Clients refuse the certificate of ${url.host}: ${refusal}.`,
        'Install a certificate for this name, with its whole chain (fullchain.pem).',
      );
    } else if (days < SOON_DAYS)
      warn(`The certificate of ${url.host} expires in ${days} days.`, RENEW);
    else ok(`The certificate of ${url.host} is valid for ${days} days.`);
  },
};

/** Connects even if the certificate is not valid, to find out why. */
function openTls({ hostname, port }: URL): Promise<TLSSocket> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return new Promise((resolve, reject) => {
    const socket = connect({
      host,
      port: port === '' ? 443 : Number(port),
      ...(isIP(host) === 0 ? { servername: host } : {}),
      rejectUnauthorized: false,
    });
    socket.setTimeout(CONNECT_MS, () => {
      socket.destroy(new Error(`no answer within ${CONNECT_MS / 1000} seconds`));
    });
    socket.once('secureConnect', () => resolve(socket));
    socket.once('error', reject);
  });
}
