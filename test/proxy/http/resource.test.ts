/** A resource as it is sent: which codings it has, under which ETag, and how often it is compressed. */
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { hashBytes, hexOf } from '../../../format/content-hash.ts';
import {
  makeResource,
  type Representation,
  representationOf,
} from '../../../proxy/http/resource.ts';

const bytesOf = ({ payload }: Representation) =>
  typeof payload === 'string' ? Buffer.from(payload, 'latin1') : payload;
const make = (length: number, link?: string) => {
  const bytes = Buffer.from('é'.repeat(length).slice(0, Math.ceil(length / 2))).subarray(0, length);
  return { bytes, resource: makeResource({ bytes, hash: hashBytes(bytes) }, link) };
};

test('is compressed from 1 KiB on', () => {
  expect(make(1023).resource.isCompressible).toBe(false);
  expect(make(1024).resource.isCompressible).toBe(true);
});

test.each([0, 1, 1024, 2047, 2048, 2049, 100_000])(
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
      const made = await representationOf(resource, coding);
      const body = bytesOf(made);
      expect(decode(body).equals(bytes), coding).toBe(true);
      const encoding = coding === 'identity' ? '' : `Content-Encoding: ${coding}\r\n`;
      expect(made.fields).toBe(`ETag: ${etag}\r\nContent-Length: ${body.length}\r\n${encoding}`);
    }
  },
);

test('has its Link in every coding', async () => {
  const { resource } = make(5_000, '</x>; rel="first"');
  for (const coding of ['identity', 'gzip', 'br'] as const) {
    const { fields } = await representationOf(resource, coding);
    expect(fields).toContain('\r\nLink: </x>; rel="first"\r\n');
  }
});

test('is compressed once however many ask, and kept', async () => {
  const { resource } = make(5_000);
  const asked = Array.from({ length: 10 }, () => representationOf(resource, 'br'));
  const made = await Promise.all(asked);
  expect(new Set(made).size).toBe(1);
  expect(representationOf(resource, 'br')).toBe(made[0]);
});
