/** How the proxy reads the header fields of a request, in any case and order, and its id. */
import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { makeKey } from '#lib/format/api-key.ts';
import { isRequestId, type RequestHead, readHead } from '#proxy/http/request.ts';

function read(fields: readonly string[], httpVersion = '1.1'): RequestHead {
  const rawHeaders = fields.flatMap((field) => field.split(/: ?(.*)/s, 2));
  return readHead({ rawHeaders, httpVersion } as IncomingMessage);
}

describe('the key', () => {
  test.each([
    '',
    'Authorization: Basic YTpi',
    'Authorization: Token cck_a',
    'Authorization: Token Bearer cck_a',
    'Authorization: cck_a',
    'Authorization: Bearercck_a',
    'Authorization: Bearer',
    'Authorization:  bearer  ',
    'X-Api-Key: ',
    'X-Api-Keys: cck_a',
    'X_Api_Key: cck_a',
    'Cookie: x-api-key=cck_a',
    'Proxy-Authorization: Bearer cck_a',
  ])('is missing with %j', (field) => {
    expect(read(['Host: a', field])).toMatchObject({ key: undefined, hasSeveralKeys: false });
  });

  test.each([
    'Authorization: Bearer cck_a',
    'authorization: bEARER cck_a',
    'AUTHORIZATION: Bearer \t  cck_a',
    'X-Api-Key: cck_a',
    'x-API-key: cck_a',
    'Authorization: Basic YTpi\nX-Api-Key: cck_a',
  ])('is read from %j', (fields) => {
    const head = read(['Host: a', ...fields.split('\n')]);
    expect(head).toMatchObject({ key: 'cck_a', hasSeveralKeys: false });
  });

  test.each([
    'Authorization: Bearer cck_a\nX-Api-Key: cck_a',
    'X-Api-Key: cck_a\nAuthorization: Bearer cck_a',
    'Authorization: Bearer cck_a\nAuthorization: Bearer cck_a',
    'X-Api-Key: cck_a\nX-Api-Key: cck_b',
    'Authorization: Basic YTpi\nAuthorization: Bearer cck_a',
    'Authorization: Bearer cck_a\nauthorization: Basic YTpi',
    'Authorization: Bearer cck_a\nX-Api-Key: ',
    'X-Api-Key: cck_a\nx-api-key: ',
    'X-Api-Key: cck_a\nAuthorization: Bearer',
  ])('is refused as given more than once in %j', (fields) => {
    const head = read(['Host: a', ...fields.split('\n')]);
    expect(head).toMatchObject({ key: undefined, hasSeveralKeys: true });
  });

  test('is truncated to 256 characters', () => {
    for (const length of [256, 257, 9_000]) {
      expect(read([`X-Api-Key: ${'k'.repeat(length)}`]).key).toHaveLength(256);
      expect(read([`Authorization: Bearer ${'k'.repeat(length)}`]).key).toHaveLength(256);
    }
  });
});

const HOST = 'A request must have exactly one Host header';
const BAD_HOST = 'The Host header must be a host name or an address, and a port if there is one';
const BODY = 'A request must not have a body';
const SNAPSHOT = 'X-Snapshot must be given at most once';
test.each([
  ['Host: a', '1.1', undefined],
  ['Host: a', '1.0', undefined],
  ['', '1.0', undefined],
  ['', '1.1', HOST],
  ['Host: a\nHost: a', '1.1', HOST],
  ['Host: a\nhost: b', '1.0', HOST],
  ['Host: ###', '1.1', BAD_HOST],
  ['Host: a b', '1.1', BAD_HOST],
  ['Host: a, b', '1.1', BAD_HOST],
  ['Host: http://a', '1.1', BAD_HOST],
  ['Host: a:80a', '1.0', BAD_HOST],
  ['Host: user@a', '1.1', BAD_HOST],
  ['Host: a%zz', '1.1', BAD_HOST],
  ['Host: ::1', '1.1', BAD_HOST],
  ['Host: [::1', '1.1', BAD_HOST],
  ['Host: [::1]:8080', '1.1', undefined],
  ['Host: ', '1.1', undefined],
  ['Host: a_b.xn--caf-dma.example.:8080', '1.1', undefined],
  ['Host: 192.0.2.1:', '1.1', undefined],
  ['Host: a', '2.0', 'Only HTTP/1.1 is supported'],
  ['Host: a', '0.9', 'Only HTTP/1.1 is supported'],
  ['Host: a\nContent-Length: 0', '1.1', undefined],
  ['Host: a\nContent-Length: 1', '1.1', BODY],
  ['Host: a\ncontent-LENGTH: 1\nContent-Length: 0', '1.1', BODY],
  ['Host: a\nTransfer-Encoding: chunked', '1.1', BODY],
  ['Host: a\ntransfer-encoding: ', '1.1', BODY],
  ['Host: a\nX-Snapshot: a', '1.1', undefined],
  ['Host: a\nX-Snapshot: a\nx-snapshot: a', '1.1', SNAPSHOT],
])('the fields %j over HTTP/%s have the fault %j', (fields, version, fault) => {
  expect(read(fields.split('\n'), version).fault?.text).toBe(fault);
});

test('a fault of a header field has its name', () => {
  const fieldOf = (...fields: string[]) => read(fields, '1.1').fault?.field;
  expect(fieldOf('Host: ###')).toBe('Host');
  expect(fieldOf('Host: a', 'X-Snapshot: a', 'X-Snapshot: a')).toBe('X-Snapshot');
  expect(fieldOf('Host: a', 'Content-Length: 1')).toBeUndefined();
});

test('the case and order of the fields and unknown fields between them do not matter', () => {
  const random = makeRandom(1);
  const expected = {
    key: 'cck_a',
    hasSeveralKeys: false,
    hasMisplacedKey: false,
    ifNoneMatch: '"a", W/"b"',
    ifModifiedSince: undefined,
    acceptEncoding: 'gzip;q=0.5, br',
    range: 'bytes=0-1',
    ifRange: '"a"',
    snapshot: '000001-abcdef012345',
    forwardedFor: '1.2.3.4, 10.0.0.1, 10.0.0.2',
    fault: undefined,
  };
  const groups = [
    ...['Host: a', 'X-Api-Key: cck_a', `X-Snapshot: ${expected.snapshot}`, 'Content-Length: 0'],
    // Fields of one name keep their order.
    ['If-None-Match: "a"', 'If-None-Match: W/"b"'],
    ['Accept-Encoding: gzip;q=0.5', 'Accept-Encoding: br'],
    ...['Range: bytes=0-1', 'If-Range: "a"'],
    ['X-Forwarded-For: 1.2.3.4, 10.0.0.1', 'X-Forwarded-For: 10.0.0.2'],
    // Unknown names of the same length as known ones.
    ...['Hosu: x', 'X-Api-Kex: x', 'X-Snapshop: x', 'Authorizatiom: Bearer x', 'If-None-Matcg: x'],
    ...['Content-Lengti: 9', 'Accept-Encodinh: x', 'Transfer-Encodinh: x'],
    ...['Rangf: x', 'If-Rangf: x', 'Available-Dictionarz: x'],
  ].map((group) => [group].flat());
  const recase = (letter: string) =>
    random.happens(0.5) ? letter.toUpperCase() : letter.toLowerCase();
  for (let i = 0; i < 500; i++) {
    const left = groups.map((group) => [...group]);
    const fields: string[] = [];
    while (left.some((group) => group.length > 0)) {
      const field = random.pick(left).shift();
      if (field !== undefined)
        fields.push(field.replace(/^[^:]+/, (name) => name.replace(/\w/g, recase)));
    }
    expect(read(fields)).toEqual(expected);
  }
  expect(read(['X-Snapshot: '])).toMatchObject({ snapshot: undefined, forwardedFor: undefined });
});

test('a client may choose a short id without odd characters and without a key', () => {
  for (const id of ['a', 'A-Z_0.9', '5f0c1e9a7b3d48260c1e9a7b12345678', `${'ab-'.repeat(21)}x`]) {
    expect(isRequestId(id), id).toBe(true);
  }
  const keys = [`x.${makeKey()}`, makeKey().slice(4)];
  for (const id of ['', 'ab-'.repeat(22), 'a b', 'a"b', 'caf\xe9', ...keys]) {
    expect(isRequestId(id), id).toBe(false);
  }
});
