/** Downloads of a generation that is replaced and pruned meanwhile: one that is slow, and one that was interrupted. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { MINISEARCH } from '#lib/format/layout.ts';
import { generationDir, idsOnDisk, pointCurrentTo } from '#lib/generations/generations.ts';
import { ONLY_CURRENT, prune } from '#lib/generations/prune.ts';
import type { Texts } from '#test/support/processes.ts';
import { NEVER, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { openSocket } from '#test/support/servers/sockets.ts';
import { fitManifest, makeChanging, newSnapshots } from '#test/support/wholeness.ts';

const ARCHIVE = '/snapshot/archive';
const key = testKey(1);

/** A proxy that serves a first generation, whose archive is more than the kernel takes for a slow reader. */
async function start(environment: Texts = {}) {
  const database = await makeChanging();
  const dir = newSnapshots();
  const id = await database.publish(dir);
  writeKeys(dir, [key]);
  writeFileSync(path.join(generationDir(dir, id), MINISEARCH), Buffer.alloc(24 * 1024 * 1024, id));
  pointCurrentTo(dir, fitManifest(dir, id));
  const proxy = await startProxy(dir, environment, NEVER);
  const whole = await proxy.get(ARCHIVE, key.key);
  return {
    proxy,
    whole,
    etag: whole.headers.etag as string,
    /** Publishes another generation, and removes all others from the disk. */
    async publish(): Promise<string> {
      const current = await database.publish(dir);
      // The database has no keys, so the run has exported none.
      writeKeys(dir, [key]);
      await prune(dir, ONLY_CURRENT);
      expect(idsOnDisk(dir)).toHaveLength(1);
      await proxy.refresh();
      return current;
    },
  };
}

test('an archive that is read slowly is complete although three generations were published and pruned', async () => {
  // The threads share the count of downloads.
  const { proxy, whole, publish } = await start({ PROXY_THREADS: '2' });
  const socket = await openSocket(proxy.port);
  const received: Buffer[] = [];
  socket.on('data', (piece: Buffer) => received.push(piece));
  socket.write(
    `GET /api/v1${ARCHIVE} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\nConnection: close\r\n\r\n`,
  );
  await once(socket, 'data');
  socket.pause();
  for (let i = 0; i < 3; i++) await publish();
  socket.resume();
  await once(socket, 'close');
  const bytes = Buffer.concat(received);
  expect(bytes.subarray(bytes.indexOf('\r\n\r\n') + 4).equals(whole.bytes)).toBe(true);
});

test('an interrupted archive is resumed after it was replaced and pruned, by its ETag only', async () => {
  const { proxy, whole, etag, publish } = await start();
  const id = await publish();
  const range = 'bytes=5000-';
  const get = (target: string, headers: Record<string, string>) =>
    proxy.get(target, key.key, { range, ...headers });
  const rest = await get(ARCHIVE, { 'if-range': etag });
  expect([rest.status, rest.headers.etag]).toEqual([206, etag]);
  expect(rest.headers['x-snapshot']).toBe(whole.headers['x-snapshot']);
  expect(rest.bytes.equals(whole.bytes.subarray(5000))).toBe(true);
  // Everything else is that of the current generation.
  for (const headers of [{}, { 'if-range': '"other"' }, { 'if-range': `W/${etag}` }]) {
    expect((await get(ARCHIVE, headers)).headers['x-snapshot']).toBe(id);
  }
  for (const range of ['', 'bytes=0-', 'lines=5-']) {
    expect((await get(ARCHIVE, { 'if-range': etag, range })).headers['x-snapshot']).toBe(id);
  }
  expect((await get('/snapshot', { 'if-range': etag })).headers['x-snapshot']).toBe(id);
  expect((await get(ARCHIVE, { 'if-range': etag, 'x-snapshot': 'x' })).status).toBe(400);
  const expected = { 'if-range': etag, 'x-snapshot': whole.headers['x-snapshot'] as string };
  expect((await get(ARCHIVE, expected)).status).toBe(412);
});
