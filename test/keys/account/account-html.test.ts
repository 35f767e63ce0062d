/** The parts of the account pages: links, foreign forms, the cookie, assertions of the site. */
import { createHmac } from 'node:crypto';
import { Hono } from 'hono';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { webLink } from '#keys/account/pages/layout.ts';
import { makeAssertionCheck } from '#keys/account/visitors/assertion.ts';
import { makeSessionCookie, refuseForeignForms } from '#keys/account/visitors/visitors.ts';

describe('a link', () => {
  test.each(['javascript:alert(1)', 'JaVaScRiPt:1', ' data:text/html,1', 'vbscript:1', 'x', ''])(
    'is not made of %j',
    (address) => {
      expect(String(webLink(address))).not.toContain('href');
    },
  );

  test('to a web address gives its host no access to the page', () => {
    expect(String(webLink('https://a.example/?a="&b'))).toBe(
      '<a href="https://a.example/?a=&quot;&amp;b" rel="noopener noreferrer nofollow ugc">https://a.example/?a=&quot;&amp;b</a>',
    );
  });
});

describe('a form', () => {
  test.each([
    [{ 'sec-fetch-site': 'cross-site' }, true],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://a.example' }, true],
    [{ origin: 'null' }, true],
    [{ origin: 'https://evil.example', host: 'a.example' }, true],
    [{ origin: 'https://a.example.evil.example', host: 'a.example' }, true],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://a.example', host: 'b' }, false],
    [{ origin: 'https://127.0.0.1:8080', host: '127.0.0.1:8080' }, false],
    [{ origin: 'http://a.example', host: 'a.example' }, true],
    [{ origin: 'https://a.example:80', host: 'a.example' }, true],
    [{ host: 'a.example' }, true],
    [{ 'sec-fetch-site': 'cross-site', origin: 'http://a.example', host: 'a.example' }, true],
  ])('that is sent with %j comes from another origin: %s', async (headers, expected) => {
    const app = new Hono()
      .use(refuseForeignForms('https://a.example'))
      .post('/', (c) => c.text('taken'));
    const reply = await app.request('/', { method: 'POST', headers: { ...headers } });
    expect(reply.status).toBe(expected ? 403 : 200);
  });

  test('of pages without TLS may be sent to each of their names', async () => {
    const app = new Hono()
      .use(refuseForeignForms('http://a.example'))
      .post('/', (c) => c.text('taken'));
    const headers = { origin: 'http://127.0.0.1:8080', host: '127.0.0.1:8080' };
    expect((await app.request('/', { method: 'POST', headers })).status).toBe(200);
  });
});

describe('cookies', () => {
  test('cannot be read by scripts, and are sent only over TLS if the pages use TLS', async () => {
    const written = async (isSecure: boolean) => {
      const app = new Hono().get('/', (c) => {
        makeSessionCookie(isSecure).write(c, 'b', 9);
        return c.text('');
      });
      return (await app.request('/')).headers.getSetCookie();
    };
    expect(await written(true)).toEqual([
      '__Host-catalogue_session=b; Max-Age=9; Path=/; HttpOnly; Secure; SameSite=Lax',
    ]);
    expect(await written(false)).toEqual([
      'catalogue_session=b; Max-Age=9; Path=/; HttpOnly; SameSite=Lax',
    ]);
  });

  test.each([
    ['x=1; __Host-S=2; S=3', '2'],
    ['S=3', undefined],
    ['__Host-S=1; __Host-S=2', undefined],
    ['__Host-S=1;__Host-S =2', undefined],
    ['x__Host-S=1', undefined],
  ])('are ignored if there are several of one name: %s', async (cookie, expected) => {
    const app = new Hono().get('/', (c) => c.json({ read: makeSessionCookie(true).read(c) }));
    const headers = { cookie: cookie.replaceAll('S', 'catalogue_session') };
    const reply = await app.request('/', { headers });
    expect(await reply.json()).toEqual({ read: expected });
  });
});

describe('an assertion of the site', async () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const soon = at.getTime() / 1000 + 60;
  const secret = 'a secret of thirty-two bytes ...';
  const bytes = Buffer.from(secret);
  const log = pino({ level: 'silent' });
  const check = makeAssertionCheck({ secret }, log);
  const claims = { sub: '7', aud: 'cover-catalogue-api', exp: soon };
  const sign = (payload: object, key: Uint8Array = bytes, alg = 'HS256') =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg }).sign(key);

  /** The reason for which a check refuses. */
  const refusal = (checked: Promise<unknown>) =>
    checked.then(
      () => 'none',
      (error) => error.reason,
    );

  test('gives the account', async () => {
    expect(await check(await sign(claims), at)).toBe(7);
  });

  test.each([
    ['expired', { ...claims, exp: soon - 120 }, 'expired'],
    ['without an expiry', { ...claims, exp: undefined }, 'claims'],
    [
      'valid for years, as by a wrong clock',
      { ...claims, exp: soon + 10 * 365 * 86_400 },
      'claims',
    ],
    ['for another audience', { ...claims, aud: 'another' }, 'audience'],
    ['for nobody', { ...claims, aud: undefined }, 'audience'],
    ['not yet valid', { ...claims, nbf: soon }, 'claims'],
    ['without a subject', { ...claims, sub: undefined }, 'claims'],
  ])('is refused if it is %s', async (_name, payload, reason) => {
    expect(await refusal(check(await sign(payload), at))).toBe(reason);
  });

  test.each([
    ...['007', '0x7', '7.0', '7e0', '+7', '-7', ' 7', '7 ', '0', '٧', '', 7, [7], null],
    ...['7 OR 1=1', '99999999999999999999'],
  ])('is refused if its subject is %j, because only "7" is account 7', async (sub) => {
    expect(await refusal(check(await sign({ ...claims, sub }), at))).toBe('claims');
  });

  test('is refused if it is forged', async () => {
    const token = await sign(claims);
    const [head, , signature] = token.split('.');
    const other = Buffer.from(JSON.stringify({ ...claims, sub: '1' })).toString('base64url');
    expect(await refusal(check(`${head}.${other}.${signature}`, at))).toBe('signature');
    const another = await sign(claims, Buffer.from('another secret of 32 bytes ....'));
    expect(await refusal(check(another, at))).toBe('signature');
    expect(await refusal(check(await sign(claims, Buffer.alloc(64, 1), 'HS512'), at))).toBe(
      'signature',
    );
    expect(await refusal(check(new UnsecuredJWT(claims).encode(), at))).toBe('signature');
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    expect(await refusal(check(`${none}.${other}.${signature}`, at))).toBe('signature');
    for (const junk of ['', 'x', '..', 'a.b.c', 'x'.repeat(9000)]) {
      expect(await refusal(check(junk, at))).toBe('signature');
    }
  });

  test('may be signed with a key of a JWKS, but not with that public key as a secret', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
    const checkByFile = makeAssertionCheck({ keys: [jwk] }, log);
    const verify = (token: string) => checkByFile(token, at);
    const signed = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey);
    expect(await verify(signed)).toBe(7);
    const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const input = `${text({ alg: 'HS256', kid: 'one' })}.${text(claims)}`;
    const mac = createHmac('sha256', JSON.stringify(jwk)).update(input).digest('base64url');
    expect(await refusal(verify(`${input}.${mac}`))).toBe('signature');
    expect(await refusal(verify(await sign(claims)))).toBe('signature');
  });
});
