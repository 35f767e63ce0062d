/** Many connections, idle or slow: who opens or holds them keeps nobody out. */
import type { Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '#lib/database/open.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { until } from '#test/soak/support/until.ts';
import { withOpenFiles } from '#test/support/processes.ts';
import {
  generate,
  makeFolder,
  type ProxyProgram,
  startProxyProgram,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { openSocket } from '#test/support/servers/sockets.ts';

const FILES = 256;
const ATTACKERS = 400;
const DROPPED = 'api_connections_dropped_total{which="unused"}';

const key = testKey(1);

const databaseUrl = await makeSampleSqlite();
const dir = `${makeFolder()}/snapshots`;
await generate(databaseUrl, dir);
writeKeys(dir, [key]);

/**
 * Sends a request on a new connection, and once more on another one if that is closed without a response,
 * as HTTP clients do (RFC 9112, section 9.3.1): on a busy machine, connections of the attack may reach a
 * thread between a new connection and its request.
 */
function request(proxy: ProxyProgram, target = '/stats', sent = key) {
  const get = () => proxy.get(target, sent.key, { connection: 'close' });
  return get().catch(get);
}

async function metric(proxy: ProxyProgram, name: string): Promise<number> {
  const lines = (await proxy.metrics()).split('\n');
  return Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1]);
}

const logged = (proxy: ProxyProgram, text: string) =>
  proxy
    .log()
    .split('\n')
    .filter((line) => line.includes(text)).length;

/**
 * Opens connections and sends the same bytes on each. A whole request is answered before the next
 * connection is opened: answered later, it would count as used later.
 */
async function openMany(proxy: ProxyProgram, count: number, first: string): Promise<Socket[]> {
  const sockets: Socket[] = [];
  for (let i = 0; i < count; i++) {
    const socket = await openSocket(proxy.port);
    socket.on('error', () => {}).resume();
    sockets.push(socket);
    if (first === '') continue;
    const answered = new Promise((resolve) => socket.once('data', resolve).once('close', resolve));
    socket.write(first);
    if (first.endsWith('\r\n\r\n')) await answered;
  }
  return sockets;
}

const stats = (fields = '') =>
  `GET /api/v1/stats HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n${fields}\r\n`;

const ATTACKS: readonly (readonly [string, string])[] = [
  ['send nothing', ''],
  ['stay after a response', stats()],
  ['stay after a response through Node’s parser', stats('TE: x\r\n')],
  ['send half a head', stats().slice(0, 40)],
];

describe.each([1, 3])(`with ${FILES} open files and %i serving threads`, (threads) => {
  test(`${ATTACKERS} unused connections keep nobody out`, async () => {
    const proxy = await startProxyProgram(
      dir,
      { PROXY_THREADS: String(threads), ADDRESS_RATE_LIMIT: '100000' },
      withOpenFiles(FILES),
    );
    await until(async () => (await request(proxy)).status === 200);
    const limit = await metric(proxy, 'api_connections_limit');
    expect(limit).toBe(Math.floor(FILES / 2 / threads) * threads);
    const sockets: Socket[] = [];
    // The kernel accepts connections before a thread does. If a thread accepted these after that of the
    // next request, it could close that one before the request arrives.
    const attack = async (count: number, first: string) => {
      sockets.push(...(await openMany(proxy, count, first)));
      await until(async () => {
        const accepted = await metric(proxy, 'api_connections');
        return accepted >= sockets.filter(({ destroyed }) => !destroyed).length;
      });
    };
    for (const [, first] of ATTACKS) {
      await attack(ATTACKERS / ATTACKS.length, first);
      expect((await request(proxy)).status).toBe(200);
      expect((await proxy.readyz()).status).toBe(200);
    }
    expect(await metric(proxy, DROPPED)).toBeGreaterThan(ATTACKERS - limit);

    // Work that needs files continues: a new generation, whose packs stay open, and new keys.
    const before = (await request(proxy)).headers['x-snapshot'];
    const database = await openDatabase(databaseUrl);
    await database.run('UPDATE games SET title = ? WHERE id = (SELECT MIN(id) FROM games)', [
      `Title ${threads}`,
    ]);
    await database.close();
    let isGenerating = true;
    const keepAttacking = async () => {
      for (; isGenerating; await pause(500)) await attack(1, '');
    };
    const generated = generate(databaseUrl, dir).finally(() => {
      isGenerating = false;
    });
    await Promise.all([generated, keepAttacking()]);
    const another = testKey(2);
    writeKeys(dir, [key, another]);
    await until(async () => {
      await attack(10, '');
      const { status, headers } = await request(proxy, '/stats', another);
      return status === 200 && headers['x-snapshot'] !== before;
    });

    for (const socket of sockets) socket.destroy();
    await until(async () => (await metric(proxy, 'api_connections')) < 5);
    const replies = await Promise.all(
      Array.from({ length: 10 }, () => request(proxy, '/platforms')),
    );
    expect(new Set(replies.map(({ status }) => status))).toEqual(new Set([200]));
    expect(logged(proxy, 'too many connections')).toBeGreaterThan(0);
    expect(logged(proxy, 'EMFILE')).toBe(0);
    expect(await proxy.stop()).toBe(0);
  });
});
