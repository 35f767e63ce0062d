/** The parts that pages are made of: markup, form tokens, cookies, assertions of the site. */
import { createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from 'jose';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { makeAssertionCheck } from '../../../keys/account/assertion.ts';
import { makeCookies } from '../../../keys/account/cookies.ts';
import { isForeign, isToken, makeVisit, tokenFor } from '../../../keys/account/form-token.ts';
import { html, textOf } from '../../../keys/account/html.ts';
import { webLink } from '../../../keys/account/pages/layout.ts';
import { usableKeys } from '../../../program/environment/site-keys.ts';

const requestWith = (headers: Record<string, string>) =>
  ({ headers }) as unknown as IncomingMessage;

describe('markup', () => {
  test('takes every text as text, in elements and in attributes', () => {
    const text = `<script>alert("1")</script>&'`;
    const safe = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;';
    expect(textOf(html`<p title="${text}">${text}</p>`)).toBe(`<p title="${safe}">${safe}</p>`);
  });

  test('is put into markup as it is, alone or many', () => {
    const items = ['a<', 'b'].map((text) => html`<li>${text}</li>`);
    expect(textOf(html`<ul>${items}</ul>${undefined}${false}${7}`)).toBe(
      '<ul><li>a&lt;</li><li>b</li></ul>7',
    );
  });

  test('is not made by what merely looks like it', () => {
    const forged = JSON.parse('{"markup":"<b>","html":"<b>","Symbol(markup)":"<b>"}');
    expect(() => textOf(html`${forged}`)).toThrow();
  });

  test('has no gap without quotes as the value of an attribute', () => {
    expect(() => html`<p title=${'x onclick=1'}>`).toThrow('without quotes');
  });

  test('shows what would steer the text as a mark', () => {
    expect(textOf(html`${'a\u202eb\u2066c\u0000d\u001b[2Je\nf\tg'}`)).toBe(
      'a\ufffdb\ufffdc\ufffdd\ufffd[2Je\nf\tg',
    );
  });

  test.each(['javascript:alert(1)', 'JaVaScRiPt:1', ' data:text/html,1', 'vbscript:1', 'x', ''])(
    'makes no link of %j',
    (address) => {
      expect(textOf(webLink(address))).not.toContain('href');
    },
  );

  test('makes a link of a web address, and leaves its host no way back', () => {
    expect(textOf(webLink('https://a.example/?a="&b'))).toBe(
      '<a href="https://a.example/?a=&quot;&amp;b" rel="noopener noreferrer nofollow ugc">https://a.example/?a=&quot;&amp;b</a>',
    );
  });
});

describe('the token of a form', () => {
  test('holds for one visitor and one account', () => {
    const visit = makeVisit();
    const token = tokenFor(visit, 7);
    expect(isToken(token, tokenFor(visit, 7))).toBe(true);
    for (const other of [
      tokenFor(visit, 8),
      tokenFor(visit, undefined),
      tokenFor(makeVisit(), 7),
    ]) {
      expect(isToken(token, other)).toBe(false);
    }
    for (const wrong of [undefined, '', 'x', `${token}x`])
      expect(isToken(wrong, token)).toBe(false);
  });

  test.each([
    [{ 'sec-fetch-site': 'cross-site' }, true],
    [{ 'sec-fetch-site': 'same-site', origin: 'https://a.example' }, true],
    [{ origin: 'null' }, true],
    [{ origin: 'https://evil.example', host: 'a.example' }, true],
    [{ origin: 'https://a.example.evil.example', host: 'a.example' }, true],
    [{ 'sec-fetch-site': 'same-origin', origin: 'https://a.example', host: 'b' }, false],
    [{ origin: 'http://127.0.0.1:8080', host: '127.0.0.1:8080' }, false],
    [{ host: 'a.example' }, false],
  ])('a form sent with %j comes from elsewhere: %s', (headers, expected) => {
    expect(isForeign(requestWith(headers), 'https://a.example')).toBe(expected);
  });
});

describe('cookies', () => {
  test('are for no script, and for TLS alone where there is TLS', () => {
    expect(makeCookies(true).write('a', 'b', 9)).toBe(
      '__Host-a=b; Path=/; Max-Age=9; HttpOnly; SameSite=Lax; Secure',
    );
    expect(makeCookies(false).write('a', 'b', 9)).toBe(
      'a=b; Path=/; Max-Age=9; HttpOnly; SameSite=Lax',
    );
  });

  test('of one name are believed only once', () => {
    const read = (cookie: string) => makeCookies(true).read(requestWith({ cookie }), 'a');
    expect(read('x=1; __Host-a=2; a=3')).toBe('2');
    expect(read('a=3')).toBeUndefined();
    expect(read('__Host-a=1; __Host-a=2')).toBeUndefined();
    expect(read('x__Host-a=1')).toBeUndefined();
  });
});

describe('an assertion of the site', async () => {
  const at = new Date('2026-01-01T00:00:00Z');
  const soon = at.getTime() / 1000 + 60;
  const secret = 'a secret of thirty-two bytes ...';
  const bytes = Buffer.from(secret);
  const log = pino({ level: 'silent' });
  const check = makeAssertionCheck({ secret }, log);
  const bearer = (token: string) => check(requestWith({ authorization: `Bearer ${token}` }), at);
  const claims = { sub: '7', aud: 'cover-catalogue-api', exp: soon };
  const sign = (payload: object, key: Uint8Array = bytes, alg = 'HS256') =>
    new SignJWT({ ...payload }).setProtectedHeader({ alg }).sign(key);

  test('names the account, in a header or a cookie', async () => {
    const token = await sign(claims);
    expect(await bearer(token)).toBe(7);
    expect(await check(requestWith({ cookie: `catalogue_assertion=${token}` }), at)).toBe(7);
    expect(await check(requestWith({}), at)).toBeUndefined();
  });

  test.each([
    ['expired', { ...claims, exp: soon - 120 }],
    ['without an end', { ...claims, exp: undefined }],
    ['for somebody else', { ...claims, aud: 'another' }],
    ['for nobody', { ...claims, aud: undefined }],
    ['not yet valid', { ...claims, nbf: soon }],
    ['without a subject', { ...claims, sub: undefined }],
    ['of no account number', { ...claims, sub: '7 OR 1=1' }],
    ['of a number too large', { ...claims, sub: '99999999999999999999' }],
  ])('is nobody’s when it is %s', async (_name, payload) => {
    expect(await bearer(await sign(payload))).toBeUndefined();
  });

  test.each(['007', '0x7', '7.0', '7e0', '+7', '-7', ' 7', '7 ', '0', '٧', '', 7, [7], null])(
    'is nobody’s when its subject is %j: only "7" is account 7',
    async (sub) => {
      expect(await bearer(await sign({ ...claims, sub }))).toBeUndefined();
    },
  );

  test('is nobody’s when it is forged', async () => {
    const token = await sign(claims);
    const [head, , signature] = token.split('.');
    const other = Buffer.from(JSON.stringify({ ...claims, sub: '1' })).toString('base64url');
    expect(await bearer(`${head}.${other}.${signature}`)).toBeUndefined();
    expect(await bearer(await sign(claims, Buffer.from('another secret of 32 bytes ....')))).toBe(
      undefined,
    );
    expect(await bearer(await sign(claims, Buffer.alloc(64, 1), 'HS512'))).toBeUndefined();
    expect(await bearer(new UnsecuredJWT(claims).encode())).toBeUndefined();
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    expect(await bearer(`${none}.${other}.${signature}`)).toBeUndefined();
    for (const junk of ['', 'x', '..', 'a.b.c', 'x'.repeat(9000)]) {
      expect(await bearer(junk)).toBeUndefined();
    }
  });

  test('may be signed with a key of a JWKS, never with that public key as a secret', async () => {
    const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
    const jwk = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256' };
    const checkByFile = makeAssertionCheck(usableKeys({ keys: [jwk] }), log);
    const ask = (token: string) =>
      checkByFile(requestWith({ authorization: `Bearer ${token}` }), at);
    const signed = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'ES256', kid: 'one' })
      .sign(privateKey);
    expect(await ask(signed)).toBe(7);
    const text = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const input = `${text({ alg: 'HS256', kid: 'one' })}.${text(claims)}`;
    const mac = createHmac('sha256', JSON.stringify(jwk)).update(input).digest('base64url');
    expect(await ask(`${input}.${mac}`)).toBeUndefined();
    expect(await ask(await sign(claims))).toBeUndefined();
  });
});
