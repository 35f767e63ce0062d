/**
 * Two proxies behind the real nginx with the project's own nginx.conf. Clients with persistent
 * connections notice nothing when the proxies are restarted one after the other, when one is killed,
 * and when one has nothing to serve. When one hangs, only few requests wait.
 */
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { CATALOGUE_TABLES } from '#lib/database/schema.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import { until } from '#test/soak/support/until.ts';
import {
  end,
  makeFolder,
  type ProxyProgram,
  startProxyProgram,
  testKey,
} from '#test/support/product.ts';
import {
  type FrontClientRequest,
  underLoad as frontUnderLoad,
} from '#test/support/servers/front-clients.ts';
import {
  openHttp2,
  type RunningNginx,
  sendHttp1,
  startNginx,
} from '#test/support/servers/nginx.ts';
import { freePort } from '#test/support/servers/ports.ts';

const PROMISE = 'Two proxies';
const RESTARTS = rounds(1, 4);
const KILLS = rounds(2, 12);
const CLIENTS = 60;

const key = testKey(1);
const headers = { 'x-api-key': key.key };
const STATS = '/api/v1/stats';
/** Among the largest bodies of the API. */
const SEARCH = '/api/v1/search?per_page=100';
/** So many games have descriptions so long that a response with all of them is larger than the buffers of nginx. */
const LONG = 100;
const requests: FrontClientRequest[] = [
  { method: 'GET', path: STATS, headers },
  { method: 'GET', path: SEARCH, headers },
  { method: 'GET', path: '/api/v1/platforms', headers: { ...headers, 'accept-encoding': 'br' } },
  { method: 'HEAD', path: '/api/v1/platforms', headers },
  { method: 'GET', path: STATS, headers: { ...headers, 'if-none-match': '*' } },
  { method: 'OPTIONS', path: STATS, headers: { origin: 'https://a.example' } },
  { method: 'GET', path: '/openapi.json', headers: {} },
];

/** A proxy that can be started again on the same ports. */
interface Instance {
  proxy: ProxyProgram;
  /** Starts it again. Resolves when it is ready. */
  start(): Promise<void>;
}

const seeded = seededCatalogue({ games: 3_000, seed: 6 });
const description = Object.keys(CATALOGUE_TABLES.games.columns).indexOf('description');
const games = [...seeded.games].map((game, index) =>
  index < LONG ? game.with(description, 'x'.repeat(12_000)) : game,
);
const large = `/api/v1/games?ids=${games
  .slice(0, LONG)
  .map(([id]) => id)
  .join()}`;
const snapshotsDir = await makeSnapshots({ ...seeded, games }, [key]);

async function makeInstance(dir: string, threads = 1): Promise<Instance> {
  const environment = {
    PORT: String(await freePort()),
    ADMIN_PORT: String(await freePort()),
    TRUSTED_PROXIES: '127.0.0.1',
    PROXY_THREADS: String(threads),
  };
  const instance = {
    proxy: await startProxyProgram(dir, environment),
    async start() {
      instance.proxy = await startProxyProgram(dir, environment);
      await until(async () => (await instance.proxy.readyz()).status === 200);
    },
  };
  return instance;
}

async function answeredBy({ proxy }: Instance): Promise<number> {
  const text = await proxy.metrics();
  return [...text.matchAll(/^api_requests_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}

describe.each(IS_FULL ? [1, 3] : [1])('with two proxies of %i threads', (threads) => {
  let first: Instance;
  let second: Instance;
  let nginx: RunningNginx;

  beforeAll(async () => {
    first = await makeInstance(snapshotsDir, threads);
    second = await makeInstance(snapshotsDir, threads);
    nginx = await startNginx(first.proxy.port, [], { backupPort: second.proxy.port });
    return nginx.stop;
  });

  const underLoad = (work: () => Promise<unknown>) =>
    frontUnderLoad(nginx, requests, CLIENTS, work);

  test('the first proxy answers all requests, so that the limits of keys are exact', async () => {
    const count = await underLoad(() => pause(200));
    // The metric does not count requests for the site, which are among them.
    expect(await answeredBy(first)).toBeGreaterThan(count / 2);
    expect(await answeredBy(second)).toBe(0);
  });

  test('a rolling restart loses no request', async () => {
    const count = await underLoad(async () => {
      for (let i = 0; i < RESTARTS; i++) {
        for (const instance of [first, second]) {
          expect(await instance.proxy.stop()).toBe(0);
          await instance.start();
        }
      }
    });
    expect(await answeredBy(first)).toBeGreaterThan(0);
    printFigure(
      PROMISE,
      `${threads} threads, ${RESTARTS} rolling restarts, ${count} requests: 0 lost`,
    );
  });

  test('kill -9 of either proxy loses no request', async () => {
    const random = makeRandom(threads);
    const count = await underLoad(async () => {
      for (let i = 0; i < KILLS; i++) {
        const instance = i % 4 === 1 ? second : first;
        await pause(random.below(500));
        await end(instance.proxy.child, 'SIGKILL');
        await pause(random.below(500));
        await instance.start();
      }
    });
    printFigure(PROMISE, `${threads} threads, ${KILLS} times kill -9, ${count} requests: 0 lost`);
  });

  test('kill -9 truncates no response that a client has begun to read, however slowly', async () => {
    // With a flow-control window of one byte, nginx has to buffer nearly the whole response.
    const session = await openHttp2(nginx, { initialWindowSize: 1 });
    const begun = [SEARCH, large, large].map((target) => {
      const stream = session.request({ ':path': target, ...headers });
      const length = new Promise((resolve, reject) => {
        stream.once('response', (fields) => resolve(Number(fields['content-length'])));
        stream.once('error', reject);
      });
      return { stream, length };
    });
    const lengths = await Promise.all(begun.map(({ length }) => length));
    await end(first.proxy.child, 'SIGKILL');
    session.settings({ initialWindowSize: 10_000_000 });
    session.setLocalWindowSize(20_000_000);
    const bodies = await Promise.all(begun.map(async ({ stream }) => stream.toArray()));
    expect(bodies.map((parts) => Buffer.concat(parts).length)).toEqual(lengths);
    expect(lengths[1]).toBeGreaterThan(1_000_000);
    session.destroy();
    await first.start();
  });

  test('the second proxy answers while the first has nothing to serve', async () => {
    const empty = await makeInstance(path.join(makeFolder(), 'snapshots'));
    const both = await startNginx(empty.proxy.port, [], { backupPort: second.proxy.port });
    for (let i = 0; i < 5; i++) {
      expect((await sendHttp1(both, STATS, { headers })).status).toBe(200);
    }
    await Promise.all([both.stop(), empty.proxy.kill()]);
  });

  test('the second proxy answers while the first hangs, and only few requests wait', async () => {
    const WAIT_MS = 500;
    const hurried = await startNginx(
      first.proxy.port,
      [
        ['proxy_read_timeout 10s;', `proxy_read_timeout ${WAIT_MS}ms;`],
        // nginx's worker processes do not share which proxy failed.
        ['worker_processes auto;', 'worker_processes 1;'],
      ],
      { backupPort: second.proxy.port },
    );
    first.proxy.child.kill('SIGSTOP');
    let waited = 0;
    const started = performance.now();
    for (let count = 0; count < 100; count++) {
      const sentAt = performance.now();
      expect((await sendHttp1(hurried, STATS, { headers })).status).toBe(200);
      if (performance.now() - sentAt >= WAIT_MS) waited++;
    }
    // Three requests wait before nginx skips the proxy, and then one every second or two.
    expect(waited).toBeGreaterThanOrEqual(3);
    expect(waited).toBeLessThanOrEqual(5 + (performance.now() - started) / 1000);

    first.proxy.child.kill('SIGCONT');
    const before = await answeredBy(first);
    await until(async () => {
      await sendHttp1(hurried, STATS, { headers });
      return (await answeredBy(first)) > before + 5;
    });
    await hurried.stop();
  });
});
