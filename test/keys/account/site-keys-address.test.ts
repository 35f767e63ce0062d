/** Public keys of the site, fetched from a real https server: their cache, rotation, outages and checks. */
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import path from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { makeAssertionCheck, RefusedAssertion } from '#keys/account/visitors/assertion.ts';
import { makeAccounts, makeVisitor, openPages, PEOPLE } from '#test/support/account.ts';
import { makeFolder } from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';

const COOLDOWN_MS = 30_000;
const CACHE_MS = 600_000;
const folder = makeFolder();
const keyFile = path.join(folder, 'key.pem');
const certificateFile = path.join(folder, 'certificate.pem');
const trusted = getCACertificates();

interface SiteKey {
  readonly jwk: object;
  sign(accountId: number, now?: number): Promise<string>;
}

async function makeSiteKey(kid: string, alg = 'ES256'): Promise<SiteKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true });
  return {
    jwk: { ...(await exportJWK(publicKey)), kid, alg },
    sign: (accountId, now = Date.now()) =>
      new SignJWT({ aud: 'cover-catalogue-api' })
        .setSubject(String(accountId))
        .setExpirationTime(new Date(now + 60_000))
        .setProtectedHeader({ alg, kid })
        .sign(privateKey),
  };
}

/** Sends the response of the address. */
let answer: (response: ServerResponse) => void;
let fetches = 0;
let server: Server;
const address = () => new URL(`https://127.0.0.1:${port}/.well-known/jwks.json?secret=query`);
const publish = (...keys: SiteKey[]) => {
  answer = (response) => response.end(JSON.stringify({ keys: keys.map(({ jwk }) => jwk) }));
};

async function startServer(): Promise<void> {
  const tls = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) };
  server = createServer(tls, (request, response) => {
    if (request.url?.startsWith('/.well-known/jwks.json') !== true) return response.end('no');
    fetches++;
    answer(response);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
}

async function stopServer(): Promise<void> {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
}

const subject = ['-subj', '/CN=site', '-addext', 'subjectAltName=IP:127.0.0.1'];
const files = ['-keyout', keyFile, '-out', certificateFile];
const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2'];
execFileSync('openssl', ['req', '-x509', ...kind, ...subject, ...files], { stdio: 'ignore' });
const port = await freePort();

beforeEach(async () => {
  fetches = 0;
  await startServer();
});
afterEach(async () => {
  vi.useRealTimers();
  setDefaultCACertificates(trusted);
  if (server.listening) await stopServer();
});

describe('assertions checked with keys from an address', () => {
  let log: { level: number; msg: string }[];
  let now: number;
  /** Time goes by for what keeps keys for a while. */
  const pass = (milliseconds: number) => {
    now += milliseconds;
    vi.setSystemTime(now);
    vi.advanceTimersByTime(milliseconds);
  };

  beforeEach(() => {
    log = [];
    now = Date.now();
    // Connections and their timeouts keep the real clock.
    vi.useFakeTimers({ toFake: ['Date', 'performance'], now });
    setDefaultCACertificates([...trusted, readFileSync(certificateFile, 'utf8')]);
  });

  function makeCheck() {
    const logger = pino({}, { write: (line: string) => log.push(JSON.parse(line)) });
    const check = makeAssertionCheck({ url: address() }, logger);
    return (assertion: string) => check(assertion, new Date(now));
  }

  test('can be rotated, and unknown keys do not cause a fetch each', async () => {
    const [first, second] = [await makeSiteKey('one'), await makeSiteKey('two', 'RS256')];
    const stranger = await makeSiteKey('of a stranger');
    publish(first);
    const check = makeCheck();
    expect(await check(await first.sign(7, now))).toBe(7);
    publish(first, second);
    for (let i = 0; i < 20; i++) {
      await expect(check(await stranger.sign(9, now))).rejects.toThrow(RefusedAssertion);
    }
    expect(fetches).toBe(1);
    pass(COOLDOWN_MS);
    expect(await check(await second.sign(8, now))).toBe(8);
    expect(await check(await first.sign(7, now))).toBe(7);
    await expect(check(await stranger.sign(9, now))).rejects.toThrow(RefusedAssertion);
    expect(fetches).toBe(2);
    // A withdrawn key is refused once the cache has expired.
    publish(second);
    pass(CACHE_MS);
    await expect(check(await first.sign(7, now))).rejects.toThrow(RefusedAssertion);
    expect(await check(await second.sign(8, now))).toBe(8);
    expect(log).toEqual([]);
  });

  test('that cannot be fetched sign nobody in, and the log repeats the fault once a minute', async () => {
    const key = await makeSiteKey('one');
    publish(key);
    const check = makeCheck();
    expect(await check(await key.sign(7, now))).toBe(7);
    await stopServer();
    pass(COOLDOWN_MS);
    // Cached keys work until they expire.
    expect(await check(await key.sign(7, now))).toBe(7);
    pass(CACHE_MS);
    for (let i = 0; i < 7; i++) {
      await expect(check(await key.sign(7, now))).rejects.toThrow(/cannot be fetched from https:/);
      pass(10_000);
    }
    await startServer();
    expect(await check(await key.sign(7, now))).toBe(7);
    const line = /^The keys of the site cannot be fetched from https.*ECONNREFUSED/;
    expect(log.map(({ level, msg }) => [level, msg])).toEqual([
      [50, expect.stringMatching(line)],
      [50, expect.stringMatching(line)],
    ]);
    expect(JSON.stringify(log)).not.toContain('secret=query');
  });

  test('are not taken from a redirect', async () => {
    answer = (response) => response.writeHead(302, { location: '/elsewhere' }).end();
    const key = await makeSiteKey('one');
    await expect(makeCheck()(await key.sign(7, now))).rejects.toThrow('cannot be fetched');
  });

  test('sign nobody in if none of them can verify signatures', async () => {
    answer = (r) => r.end('{"keys":[{"kty":"oct","k":"AAAA"}]}');
    const key = await makeSiteKey('one');
    await expect(makeCheck()(await key.sign(7, now))).rejects.toThrow(RefusedAssertion);
  });
});

test('the account pages start without the server of the keys, and log it', async () => {
  await stopServer();
  const key = await makeSiteKey('one');
  const pages = await openPages(await makeAccounts(), {
    SITE_JWKS: address().href,
    MAIL_FOLDER: folder,
  });
  const authorization = `Bearer ${await key.sign(PEOPLE.owner.id)}`;
  const early = await makeVisitor(pages.url).get('/account/api-keys', { authorization });
  expect([early.status, early.text]).toEqual([503, expect.stringContaining('Try again')]);
  expect((await makeVisitor(pages.url).get('/account/api-keys')).status).toBe(303);
  expect(pages.log().match(/cannot be fetched/g)).toHaveLength(1);
  await pages.stop();
});
