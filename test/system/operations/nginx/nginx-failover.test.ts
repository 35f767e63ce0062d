/** Two proxies behind the project's own nginx.conf: what moves requests to the second one, and what does not. */
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:net';
import path from 'node:path';
import type { TLSSocket } from 'node:tls';
import { expect, test } from 'vitest';
import { MINISEARCH } from '#lib/format/layout.ts';
import { currentId, generationDir, pointCurrentTo } from '#lib/generations/generations.ts';
import { MOST_DOWNLOADS } from '#proxy/api/downloads.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';
import { openTls, SERVER_NAME, sendHttp1, startNginx } from '#test/support/servers/nginx.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { listenOn } from '#test/support/servers/sockets.ts';
import { fitManifest } from '#test/support/wholeness.ts';

const greedy = testKey(1);
const limited = testKey(2, { limit: 10 });
const explorer = testKey(3);
const LARGE = `/api/v1/snapshot/files/${MINISEARCH}`;

/** nginx, and two proxies whose largest file is more than nginx takes for a client that does not read. */
async function start() {
  const dir = await makeSampleSnapshots([greedy, limited, explorer]);
  const id = currentId(dir) as string;
  writeFileSync(path.join(generationDir(dir, id), MINISEARCH), Buffer.alloc(24 * 1024 * 1024));
  pointCurrentTo(dir, fitManifest(dir, id));
  const environment = { TRUSTED_PROXIES: '127.0.0.1', EXPLORER_KEY: explorer.key };
  const [first, second] = await Promise.all([
    startProxy(dir, environment, NEVER),
    startProxy(dir, environment, NEVER),
  ]);
  const nginx = await startNginx(first.port, [], { backupPort: second.port });
  const get = async (target: string, key = greedy.key, headers = {}) => {
    const reply = await sendHttp1(nginx, target, { headers: { 'x-api-key': key, ...headers } });
    return reply.status;
  };
  return { nginx, get, second };
}

const times = <T>(count: number, work: () => Promise<T>) =>
  Promise.all(Array.from({ length: count }, work));

test('a client whose downloads are refused moves nobody to the second proxy, so that limits stay exact', async () => {
  const { nginx, get, second } = await start();
  async function beginDownload(): Promise<TLSSocket> {
    const socket = await openTls(nginx);
    socket.write(
      `GET ${LARGE} HTTP/1.1\r\nHost: ${SERVER_NAME}\r\nX-Api-Key: ${greedy.key}\r\n\r\n`,
    );
    await once(socket, 'data');
    return socket.pause().on('error', () => {});
  }
  const downloads = await times(MOST_DOWNLOADS / 2, beginDownload);
  const refused = await times(6, () => get(LARGE, greedy.key, { range: 'bytes=0-0' }));
  expect(refused).toEqual(Array.from({ length: 6 }, () => 429));
  const statuses = await times(20, () => get('/api/v1/stats', limited.key));
  expect(statuses.filter((status) => status === 200)).toHaveLength(10);
  expect(await second.metrics()).not.toMatch(/^api_requests_total\{.*\} [1-9]/m);
  for (const socket of downloads) socket.destroy();
});

/** Encoded, these have three times as many bytes. */
const WIDE = "'".repeat(7_000);

test.each([
  [
    'whose links would be longer than the buffer of nginx',
    `/api/v1/search?per_page=1&platform=snes,${WIDE}`,
    200,
  ],
  ['that the explorer cannot pass on to the API', `/explore?region=${WIDE}`, 414],
])('a request %s is not the failure of a proxy', async (_, target, expected) => {
  const { get, second } = await start();
  expect(await times(6, () => get(target))).toEqual(Array.from({ length: 6 }, () => expected));
  expect(await get('/api/v1/stats')).toBe(200);
  expect(await second.metrics()).not.toMatch(/^api_requests_total\{.*\} [1-9]/m);
});

test.each(['/api/v1/match?names=x', '/api/v1/search?q=x', '/match', '/explore/snes?q=x'])(
  '%s that times out is not sent to the second proxy; other requests are, and all that the first did not take',
  async (target) => {
    const sent: (string | undefined)[] = [];
    const second = createHttpServer((request, response) => {
      sent.push(request.url);
      response.end('second');
    });
    const backupPort = await listenOn(second);
    const silent = await listenOn(createServer(() => {}));
    // Otherwise the test would wait for ten seconds.
    const quick = [['proxy_read_timeout 10s;', 'proxy_read_timeout 1s;']] as const;
    const late = await startNginx(silent, quick, { backupPort });
    const [slow, other] = await Promise.all([
      sendHttp1(late, target),
      sendHttp1(late, '/api/v1/stats'),
    ]);
    expect([slow.status, other.text]).toEqual([504, 'second']);
    expect(sent).toEqual(['/api/v1/stats']);
    const down = await startNginx(await freePort(), [], { backupPort });
    expect((await sendHttp1(down, target)).text).toBe('second');
    await Promise.all([late.stop(), down.stop()]);
  },
);
