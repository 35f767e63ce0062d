/**
 * Requests that fail inside the proxy. Before the head of the response is sent, the client gets a 500
 * without the cause; after that its connection is cut, so that a partial body does not look complete.
 * Each failure is one line of the log.
 */
import { closeSync, cpSync, readdirSync, readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { BlockList } from 'node:net';
import path from 'node:path';
import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { CURRENT } from '#lib/format/layout.ts';
import { currentId, generationDir } from '#lib/generations/generations.ts';
import { makeKeyStore } from '#proxy/admit/keys/key-store.ts';
import { makeKeyTable } from '#proxy/admit/keys/key-table.ts';
import { AddressLimits } from '#proxy/admit/limits/address-limits.ts';
import { takeLocally } from '#proxy/admit/limits/rolling-window.ts';
import { Api, type ApiParts } from '#proxy/api/handler.ts';
import { HttpServer } from '#proxy/http/server.ts';
import { makeGeneration } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { makeLog } from '#test/support/log.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';
import { listenOn, openSocket, readToEnd } from '#test/support/servers/sockets.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const key = testKey(1);
const headers = { 'x-api-key': key.key };
/** Header fields with which a request does not take the fast path. */
const UNUSUAL = { ...headers, 'content-length': '0' };
const PATHS = [
  ['on the fast path', headers],
  ["through Node's parser", UNUSUAL],
] as const;
const INTERNAL_ERROR = '{"error":"Internal error"}';
const dir = await makeSnapshots(seededCatalogue({ games: 310, seed: 2, platforms: 1 }), [key]);
const [pack = ''] = readdirSync(path.join(dir, CURRENT, 'covers'));
const covers = JSON.parse(readFileSync(path.join(dir, CURRENT, 'covers', pack), 'utf8'));
const { id, game } = covers.at(-1);
const gamePath = `/games/${game.platform.slug}/${game.slug}`;
const targets = [
  gamePath,
  `${gamePath}/covers`,
  `/covers/${id}`,
  `/platforms/${game.platform.slug}/games?page=2`,
  '/search?sort=title_desc',
];

interface LogLine {
  readonly level: number;
  readonly msg: string;
  readonly route?: string;
  readonly err?: { readonly message: string };
}

const failuresIn = (log: string): LogLine[] =>
  log
    .split('\n')
    .filter((line) => line.includes('"a request failed"'))
    .map((line) => JSON.parse(line));

/** Truncates every pack of the current generation in place. @returns a function that restores them */
function truncatePacks(snapshotsDir: string): () => void {
  const contents = new Map<string, Buffer>();
  for (const folder of ['games', 'covers']) {
    for (const name of readdirSync(path.join(snapshotsDir, CURRENT, folder))) {
      const file = path.join(snapshotsDir, CURRENT, folder, name);
      contents.set(file, readFileSync(file));
      truncateSync(file, 10);
    }
  }
  return () => {
    for (const [file, content] of contents) writeFileSync(file, content);
  };
}

describe('a read that fails', () => {
  test.each(PATHS)(
    'because a pack was truncated gives 500 and one line of log, %s',
    async (_, fields) => {
      const copy = newSnapshots();
      cpSync(dir, copy, { recursive: true, verbatimSymlinks: true });
      // It checked their sizes when it opened them.
      const proxy = await startProxy(copy, {}, NEVER);
      const get = (target: string) =>
        proxy.get(target, key.key, { ...fields, 'accept-encoding': 'gzip' });
      expect((await get('/stats')).status).toBe(200);
      const restore = truncatePacks(copy);
      for (const [index, target] of targets.entries()) {
        const reply = await get(target);
        expect([reply.status, reply.text], target).toEqual([500, INTERNAL_ERROR]);
        expect(reply.headers).toMatchObject({
          'content-type': 'application/json; charset=utf-8',
          'cache-control': 'no-store',
          'x-ratelimit-limit': '1000000',
        });
        for (const name of ['etag', 'x-snapshot', 'content-encoding']) {
          expect(reply.headers[name]).toBeUndefined();
        }
        expect(failuresIn(proxy.log()).slice(index)).toEqual([
          expect.objectContaining({
            level: 50,
            err: expect.objectContaining({
              message: expect.stringMatching(/^A pack ends before byte \d+\.$/),
            }),
          }),
        ]);
      }
      const metrics = await proxy.metrics();
      const counted = [...metrics.matchAll(/^api_requests_total\{.*status="500"\} (\d+)$/gm)];
      // Each target has a route of its own.
      expect(counted.map(([, count]) => count)).toEqual(targets.map(() => '1'));
      // Other resources still work, and all do again once the packs are restored.
      expect((await get('/stats')).status).toBe(200);
      restore();
      for (const target of targets) expect((await get(target)).status).toBe(200);
      expect(failuresIn(proxy.log())).toHaveLength(targets.length);
      await proxy.stop();
    },
  );
});

/**
 * Serves `dir` in this process with parts that fail. Bodies are complete before a head is sent, so only
 * code that runs after sending, such as counting, can fail after the head.
 */
async function serve(broken: Partial<ApiParts>) {
  const messages = makeLog();
  const log = pino({}, messages);
  const clock = () => performance.now();
  const id = currentId(dir) as string;
  const files = openFiles({ dir: generationDir(dir, id), id });
  const generation = makeGeneration(files);
  const keys = makeKeyTable();
  await makeKeyStore(dir, keys.replace, clock).refresh();
  const api = new Api({
    keys,
    addresses: new AddressLimits(60),
    limiter: { take: takeLocally },
    trustedProxies: new BlockList(),
    publicUrl: 'https://api.covers.example',
    hasDownloads: true,
    counts: { count() {}, countCached() {} },
    log,
    now: clock,
    ...broken,
  });
  api.serve(generation);
  const http = new HttpServer(api.handle, () => {}, log);
  const port = await listenOn(http.server);
  return {
    failures: () => failuresIn(messages.text()),
    /** Sends requests that would keep the connection. @returns everything until the server ends it */
    async get(target: string, fields: Readonly<Record<string, string>>, times = 1) {
      const socket = await openSocket(port);
      const received = readToEnd(socket);
      const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
      const request = `GET /api/v1${target} HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n`;
      socket.write(request.repeat(times));
      return received;
    },
    async close() {
      http.closeAllConnections();
      await new Promise((resolve) => http.server.close(resolve));
      files.descriptors.forEach(closeSync);
    },
  };
}

describe('an error', () => {
  const fault = () => {
    throw new Error('the count is broken');
  };
  const keyless = (fields: Readonly<Record<string, string>>) => {
    const { 'x-api-key': _, ...others } = fields;
    return others;
  };

  test.each(PATHS)('after the head is sent cuts the connection, %s', async (_, fields) => {
    const server = await serve({ counts: { count: fault, countCached() {} } });
    for (const [index, coding] of ['identity', 'gzip', 'br'].entries()) {
      // On the fast path, requests after a failed one are not read.
      const times = fields === headers && coding === 'identity' ? 3 : 1;
      const accepting = { ...fields, 'accept-encoding': coding };
      const received = await server.get(targets.at(-1) as string, accepting, times);
      expect(received.split('HTTP/1.1 ')).toHaveLength(2);
      expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n/);
      expect(server.failures().slice(index)).toEqual([
        expect.objectContaining({
          level: 50,
          err: expect.objectContaining({ message: 'the count is broken' }),
        }),
      ]);
    }
    await server.close();
  });

  test.each(
    PATHS.flatMap(([way, fields]) => [
      [way, 'at once', fields, fault] as const,
      [way, 'later', fields, async () => fault()] as const,
    ]),
  )(
    'before a limit is known ends the connection with 500, %s, %s',
    async (_way, _when, fields, take) => {
      const server = await serve({ limiter: { take } });
      const received = await server.get('/stats', keyless(fields));
      expect(received.split('HTTP/1.1 ')).toHaveLength(2);
      expect(received).toMatch(/^HTTP\/1\.1 500 Internal Server Error\r\n/);
      expect(received).toMatch(/\r\nConnection: close\r\n/i);
      expect(received.endsWith(`\r\n\r\n${INTERNAL_ERROR}`)).toBe(true);
      expect(server.failures()).toHaveLength(1);
      await server.close();
    },
  );
});
