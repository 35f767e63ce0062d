/** The exact responses of the account pages to requests that no browser sends. */
import { connect } from 'node:net';
import { afterAll, expect, test } from 'vitest';
import { makeAccounts, openPages } from '#test/support/account.ts';
import { makeFolder } from '#test/support/product.ts';

const FORM = 'Content-Type: application/x-www-form-urlencoded';
const pages = await openPages(await makeAccounts(), { MAIL_FOLDER: makeFolder() });

afterAll(async () => {
  await pages.stop();
  // None of these requests is an error of the pages or causes a line in the log.
  expect(pages.log()).toBe('');
});

interface RawAnswer {
  readonly status: number;
  readonly fields: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Sends lines of text and reads until the server closes the connection. */
function sendLines(lines: readonly string[], body = ''): Promise<RawAnswer> {
  const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
  const parts: Buffer[] = [];
  const socket = connect(pages.port, '127.0.0.1');
  socket.write(`${[...lines, '', ''].join('\r\n')}${body}`);
  socket.on('data', (part: Buffer) => parts.push(part));
  socket.on('error', reject);
  socket.on('end', () => {
    const [head, ...rest] = Buffer.concat(parts).toString('utf8').split('\r\n\r\n');
    const [first, ...fields] = head.split('\r\n');
    resolve({
      status: Number(first.split(' ')[1]),
      fields: new Map(
        fields.map((line) => [line.split(':', 1)[0].toLowerCase(), line.replace(/^[^:]*: */, '')]),
      ),
      body: rest.join('\r\n\r\n'),
    });
  });
  return promise;
}

const get = (target: string, method = 'GET') =>
  sendLines([`${method} ${target} HTTP/1.1`, 'Host: a', 'Connection: close']);

test('HEAD has the header fields of GET, including the length, and no body', async () => {
  for (const target of ['/account/sign-in', '/account/design.css', '/account/nothing']) {
    const [whole, head] = [await get(target), await get(target, 'HEAD')];
    const named = ({ fields }: RawAnswer) => [...fields.keys()].toSorted();
    expect([head.status, head.body, named(head)]).toEqual([whole.status, '', named(whole)]);
    expect(whole.fields.get('content-length')).toBe(String(Buffer.byteLength(whole.body)));
    expect(head.fields.get('content-length')).toBe(whole.fields.get('content-length'));
  }
});

test('every response has exactly the specified security fields, and no page is cached or has scripts', async () => {
  for (const target of ['/account', '/account/sign-in', '/account/copy.js', '/account/nothing']) {
    const { fields, body } = await get(target);
    expect(Object.fromEntries(fields)).toMatchObject({
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
      'referrer-policy': 'same-origin',
      'cache-control': target.endsWith('.js') ? 'no-cache' : 'no-store',
    });
    expect(fields.has('access-control-allow-origin')).toBe(false);
    // A link for people, which loads nothing.
    expect(body.replace('<a href="http://localhost:8080">', '<a>')).not.toMatch(
      /<style|<script>|\sstyle=|\son\w+=|(?:href|src|action)="(?!\/(?!\/)|#)/i,
    );
  }
});

test.each([
  ['/account/api-keys', 'PUT', 'GET, HEAD, POST'],
  ['/account/api-keys', 'OPTIONS', 'GET, HEAD, POST'],
  ['/account/api-keys', 'TRACE', 'GET, HEAD, POST'],
  ['/account/api-keys/1/reveal', 'GET', 'POST'],
  ['/account/api-keys/1/reveal', 'HEAD', 'POST'],
  ['/moderation/api-keys/1', 'DELETE', 'GET, HEAD'],
  ['/account/account.css', 'PUT', 'GET, HEAD'],
])('%s answers 405 to %s', async (target, method, allow) => {
  const { status, fields } = await get(target, method);
  expect([status, fields.get('allow')]).toEqual([405, allow]);
});

test.each([
  ['/account/api-keys/', 404],
  ['/account/api-keys/x/revoke', 404],
  ['/account/../etc', 404],
  ['/account/%zz', 404],
  ['/', 404],
  ['/account/', 303],
  ['/moderation', 303],
])('GET %s is answered with %i', async (target, status) => {
  expect((await get(target)).status).toBe(status);
});

test('a request may have a head of up to 16 KiB, and no Host in HTTP/1.0', async () => {
  const head = ['GET / HTTP/1.1', 'Host: a', 'Connection: close', `X: ${'x'.repeat(17_000)}`];
  expect((await sendLines(head)).status).toBe(431);
  expect((await sendLines(['GET /account/sign-in HTTP/1.0'])).status).toBe(200);
});

test('a form that is too large is refused before its body is sent', async () => {
  const line = 'POST /account/sign-in HTTP/1.1';
  const head = [line, 'Host: a', 'Origin: http://a', FORM, 'Content-Length: 65537'];
  expect((await sendLines(head, 'a=1')).status).toBe(413);
});
