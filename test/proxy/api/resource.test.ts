/** The responses of a resource: their codings and ETags, and how often the resource is compressed. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { hashBytes, hexOf } from '#lib/format/content-hash.ts';
import { makeJsonResource } from '#proxy/api/routes/route.ts';
import { type Resource, respond } from '#proxy/http/resource.ts';
import type { HeaderLines } from '#proxy/http/response.ts';

const SNAPSHOT = '000001-0123456789ab';
const make = (length: number, link?: string) => {
  const bytes = Buffer.from('é'.repeat(length).slice(0, Math.ceil(length / 2))).subarray(0, length);
  return { bytes, resource: makeJsonResource({ bytes, hash: hashBytes(bytes) }, SNAPSHOT, link) };
};
const fieldsOf = (headers: HeaderLines) =>
  Object.fromEntries(
    headers.split('\r\n').map((line) => line.split(': ') as [name: string, value: string]),
  );

const request = (resource: Resource, acceptEncoding: string, ifNoneMatch?: string) =>
  respond(resource, { acceptEncoding, ifNoneMatch });

test('a resource is compressed if it has at least 1 KiB', async () => {
  for (const [length, coding] of [
    [1023, undefined],
    [1024, 'br'],
  ] as const) {
    const { headers } = await request(make(length).resource, 'br');
    expect(fieldsOf(headers)['Content-Encoding']).toBe(coding);
  }
});

test.each([1024, 100_000])(
  'a resource of %i bytes has the same content in every coding',
  async (length) => {
    const { bytes, resource } = make(length);
    expect(bytes).toHaveLength(length);
    const hex = hexOf(hashBytes(bytes));
    for (const [coding, decode, etag] of [
      ['identity', (body: Buffer) => body, `"${hex}"`],
      ['gzip', gunzipSync, `"${hex}-gzip"`],
      ['br', brotliDecompressSync, `"${hex}-br"`],
    ] as const) {
      const { status, headers, body } = await request(resource, coding);
      expect(status).toBe(200);
      expect(decode(body).equals(bytes), coding).toBe(true);
      const fields = fieldsOf(headers);
      expect(fields).toMatchObject({
        ETag: etag,
        'Content-Length': String(body.length),
        'X-Snapshot': SNAPSHOT,
      });
      expect(fields['Content-Encoding']).toBe(coding === 'identity' ? undefined : coding);
      const known = await request(resource, coding, etag);
      expect([known.status, fieldsOf(known.headers).ETag]).toEqual([304, etag]);
    }
  },
);

test('the Link of a resource is in the responses of every coding, and in a 304', async () => {
  const { resource } = make(5_000, '</x>; rel="first"');
  for (const coding of ['identity', 'gzip', 'br'] as const) {
    for (const etag of [undefined, '*']) {
      const { headers } = await request(resource, coding, etag);
      expect(fieldsOf(headers).Link).toBe('</x>; rel="first"');
    }
  }
});

test('a resource is compressed once for simultaneous requests, and the result is kept', async () => {
  const { resource } = make(5_000);
  const requests = Array.from({ length: 10 }, () => request(resource, 'br'));
  const responses = await Promise.all(requests);
  expect(new Set(responses).size).toBe(1);
  expect(request(resource, 'br')).toBe(responses[0]);
});
