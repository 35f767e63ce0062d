/** The responses with a resource: in which codings, under which ETag, and how often it is compressed. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { hashBytes, hexOf } from '../../../format/content-hash.ts';
import { makeResource, notModified, responseOf } from '../../../proxy/api/resource.ts';
import type { HeaderList } from '../../../proxy/http/message/response.ts';

const SNAPSHOT = '000001-0123456789ab';
const make = (length: number, link?: string) => {
  const bytes = Buffer.from('é'.repeat(length).slice(0, Math.ceil(length / 2))).subarray(0, length);
  return { bytes, resource: makeResource({ bytes, hash: hashBytes(bytes) }, SNAPSHOT, link) };
};
const fieldsOf = (headers: HeaderList) =>
  Object.fromEntries(headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1]]] : [])));

test('is compressed from 1 KiB on', () => {
  expect(make(1023).resource.isCompressible).toBe(false);
  expect(make(1024).resource.isCompressible).toBe(true);
});

test.each([0, 1, 1024, 100_000])(
  'of %i bytes is the same bytes in every coding',
  async (length) => {
    const { bytes, resource } = make(length);
    expect(bytes).toHaveLength(length);
    const hex = hexOf(hashBytes(bytes));
    for (const [coding, decode, etag] of [
      ['identity', (body: Buffer) => body, `"${hex}"`],
      ['gzip', gunzipSync, `"${hex}-gzip"`],
      ['br', brotliDecompressSync, `"${hex}-br"`],
    ] as const) {
      const { head, headers, body } = await responseOf(resource, coding);
      expect(head.status).toBe(200);
      expect(decode(body).equals(bytes), coding).toBe(true);
      const fields = fieldsOf(headers);
      expect(fields).toMatchObject({
        ETag: etag,
        'Content-Length': String(body.length),
        'X-Snapshot': SNAPSHOT,
      });
      expect(fields['Content-Encoding']).toBe(coding === 'identity' ? undefined : coding);
      expect(fieldsOf(notModified(resource, coding).headers).ETag).toBe(etag);
    }
  },
);

test('has its Link in every coding, and in a 304', async () => {
  const { resource } = make(5_000, '</x>; rel="first"');
  for (const coding of ['identity', 'gzip', 'br'] as const) {
    for (const { headers } of [await responseOf(resource, coding), notModified(resource, coding)]) {
      expect(fieldsOf(headers).Link).toBe('</x>; rel="first"');
    }
  }
});

test('is compressed once however many ask, and kept', async () => {
  const { resource } = make(5_000);
  const requests = Array.from({ length: 10 }, () => responseOf(resource, 'br'));
  const responses = await Promise.all(requests);
  expect(new Set(responses).size).toBe(1);
  expect(responseOf(resource, 'br')).toBe(responses[0]);
});
