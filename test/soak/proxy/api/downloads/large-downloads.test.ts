/**
 * Downloads of a large file at the same time: memory stays bounded. `test/proxy/api/downloads/slow-downloads.test.ts` has clients that stop, and files that are removed.
 */
import { createCipheriv } from 'node:crypto';
import { closeSync, openSync, writeSync } from 'node:fs';
import path from 'node:path';
import { request } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { MINISEARCH } from '#lib/format/layout.ts';
import { currentId, generationDir, pointCurrentTo } from '#lib/generations/generations.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { residentMegabytes } from '#test/support/processes.ts';
import { PARSERS, type ProxyProgram, startProxyProgram, testKey } from '#test/support/product.ts';
import { fitManifest } from '#test/support/wholeness.ts';

const MEGABYTE = 1024 * 1024;
const SIZE = (IS_FULL ? 256 : 48) * MEGABYTE;
const key = testKey(1);
/** How many downloads run at the same time. */
const DOWNLOADS = 8;
const LARGE = `/snapshot/files/${MINISEARCH}`;

/** One generation, whose search.json is a large file: the proxy does not read it. */
const snapshotsDir = await makeSampleSnapshots([key]);
const id = currentId(snapshotsDir) as string;
const descriptor = openSync(path.join(generationDir(snapshotsDir, id), MINISEARCH), 'w');
for (let at = 0; at < SIZE; at += MEGABYTE) writeSync(descriptor, blockAt(at));
closeSync(descriptor);
pointCurrentTo(snapshotsDir, fitManifest(snapshotsDir, id));

/** A megabyte of text that differs from all others, and that gzip shrinks by a quarter. */
function blockAt(at: number): Buffer {
  const cipher = createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.from(`${at}`.padEnd(16)));
  return Buffer.from(cipher.update(Buffer.alloc((MEGABYTE * 3) / 4)).toString('base64'));
}

describe.each(IS_FULL ? PARSERS : PARSERS.slice(0, 1))('over %s', (name, fields) => {
  let proxy: ProxyProgram;
  const megabytes = () => residentMegabytes(proxy.child.pid);

  beforeAll(async () => {
    proxy = await startProxyProgram(snapshotsDir);
  });

  test('downloads at the same time take little memory, and are complete', async () => {
    const before = megabytes();
    let highest = 0;
    const timer = setInterval(() => {
      highest = Math.max(highest, megabytes());
    }, 50);
    const isComplete = async (encoding: string) => {
      const { headers, body } = await request(`${proxy.url}/api/v1${LARGE}`, {
        headers: { ...fields, 'x-api-key': key.key, 'accept-encoding': encoding },
      });
      let size = 0;
      for await (const piece of body) size += piece.length;
      return headers['content-encoding'] === undefined ? size === SIZE : size > SIZE / 2;
    };
    const encodings = ['identity', 'gzip'].flatMap((encoding) =>
      Array(DOWNLOADS / 2).fill(encoding),
    );
    const complete = await Promise.all(encodings.map(isComplete));
    clearInterval(timer);
    expect(complete).toEqual(Array(DOWNLOADS).fill(true));
    printFigure(
      `${DOWNLOADS} downloads of ${SIZE / MEGABYTE} MB (${name})`,
      `${Math.round(highest - before)} MB more memory`,
    );
    expect(highest - before).toBeLessThan(64);
  });
});
