/**
 * Keys leak nowhere. The test sends canary keys in the right and in many wrong parts of requests, and
 * then finds no trace of them in any log, metric, response, snapshot file or database dump.
 */
import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs';
import type { Socket } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { hashKey, makeKey } from '#lib/format/api-key.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { makeHostile } from '#test/soak/support/hostile/hostile.ts';
import { exchange } from '#test/soak/support/hostile/hostile-wire.ts';
import { until } from '#test/soak/support/until.ts';
import { sharedServer } from '#test/support/databases.ts';
import { makeTraceFinder } from '#test/support/key-traces.ts';
import {
  end,
  finish,
  makeFolder,
  runProgram,
  send,
  startProgram,
  startProxyProgram,
} from '#test/support/product.ts';
import { openTls, SERVER_NAME, startNginx } from '#test/support/servers/nginx.ts';
import { openSocket } from '#test/support/servers/sockets.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const FUZZED = rounds(400, 10_000);
const AT_ONCE = 24;

function percentEncode(text: string): string {
  return text.replaceAll(/./g, (letter) => `%${letter.charCodeAt(0).toString(16)}`);
}

/** Requests with a key in every part where a confused or hostile client may put it. */
function misplace(key: string): string[] {
  const request = (target: string, fields: string, method = 'GET') =>
    `${method} ${target} HTTP/1.1\r\nHost: ${SERVER_NAME}\r\nConnection: close\r\n${fields}\r\n`;
  const stats = '/api/v1/stats';
  const keyed = `X-Api-Key: ${key}\r\n`;
  const basic = Buffer.from(`user:${key}`).toString('base64');
  const targets = [
    `${stats}?key=${key}`,
    `${stats}?api_key=${key}&X-Api-Key=${key}`,
    `/api/v1/search?api_key=${key}&per_page=1`,
    `/api/v1/search?sort=${key}`,
    `/api/v1/search?page=${key}`,
    `/api/v1/search?per_page=${key}&page=${key}`,
    `/api/v1/search?q=${key}${key}${key}`,
    `/api/v1/${key}`,
    `/api/v1/platforms/${key}`,
    `/api/v1/games/snes/${key}`,
    `/api/v1/covers/${key}`,
    `/${key}`,
    `/docs?${key}`,
    `/api/v1/%63${key.slice(1)}`,
    `/api/v1/games/snes/${percentEncode(key)}`,
    `/api/v1/search?page=${percentEncode(percentEncode(key))}`,
    `/api/v1/search?page=${key.slice(4)}`,
    `/api/v1/search?${key}=1&cck=${key.slice(4)}&api-key=${percentEncode(key)}`,
    `http://user:${key}@${SERVER_NAME}${stats}`,
    `//${key}@x/`,
    key,
    `/api/v1/stats#${key}`,
  ];
  const alone = [
    ...[`Bearer ${key}`, `Basic ${basic}`, key, `Digest username="${key}"`].map(
      (value) => `Authorization: ${value}`,
    ),
    ...[`X-Api-Key: ${key}, ${key}`, `X-Api-Key: ${key}${'z'.repeat(20_000)}`],
  ];
  const beside = [
    ...[`Authorization: Bearer ${key}`, keyed.trimEnd(), `X-Snapshot: ${key}`],
    ...[`If-None-Match: "${key}"`, `Accept-Encoding: ${key}`, `X-Forwarded-For: ${key}`],
    ...[`X-Request-Id: ${key}`, `X-Request-Id: ${key.slice(4)}`, `Expect: ${key}`],
    `Cookie: key=${key}\r\nReferer: https://x/?${key}\r\nUser-Agent: ${key}`,
    ...[`${key}: x`, `X ${key}`, `X-\0${key}: x`, `Content-Length: ${key}`],
  ];
  return [
    ...targets.map((target) => request(target, keyed)),
    ...targets.map((target) => request(target, '')),
    ...alone.map((field) => request(stats, `${field}\r\n`)),
    ...beside.map((field) => request(stats, `${keyed}${field}\r\n`)),
    ...['OPTIONS', 'DELETE', 'HEAD', key].map((method) => request(stats, keyed, method)),
    ...['Content-Length: 45', 'Transfer-Encoding: chunked'].map(
      (field) => request(stats, `${keyed}${field}\r\n`, 'POST') + key,
    ),
    `GET ${stats} ${key}\r\n\r\n`,
    `${key}\r\n\r\n`,
    `GET ${stats} HTTP/1.1\r\nHost: ${key}\r\n${keyed}\r\n`,
    `GET ${stats} HTTP/1.1\r\n${keyed}`,
    `\x16\x03\x01${key}`,
  ];
}

/** The contents of every file under a folder, by path. */
function readFolder(folder: string): [string, Buffer][] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => path.join(folder, name))
    .filter((file) => statSync(file).isFile())
    .map((file) => [file, readFileSync(file)]);
}

test('proxy, nginx, schedule, command line and database leave no trace of a key', async () => {
  const DATABASE_URL = await makeLoaded('mysql', sampleCatalogue());
  const snapshotsDir = newSnapshots();
  const environment = { DATABASE_URL, SNAPSHOTS_DIR: snapshotsDir, LOG_LEVEL: 'debug' };
  /** Everything that the programs wrote, by name. */
  const outputs: [string, Buffer | string][] = [];
  const keys = async (...args: string[]) => {
    const finished = await runProgram('keys', args, environment);
    expect([args, finished.code]).toEqual([args, 0]);
    return finished;
  };
  const issue = async () => {
    const { stdout, stderr } = await keys('issue', '--limit', '1000000');
    outputs.push(['stderr of issue', stderr]);
    // The key is printed only here, and the finder detects it.
    expect(makeTraceFinder(stdout.trim())(stdout)).toBeDefined();
    return stdout.trim();
  };
  const approved = await issue();
  const revoked = await issue();
  const unknown = makeKey();
  const malformed = `${makeKey().slice(0, -1)}~`;
  const canaries = [approved, revoked, unknown, malformed];
  const finders = canaries.map(makeTraceFinder);
  const expectNoTrace = (name: string, bytes: Buffer | string) => {
    for (const [index, find] of finders.entries()) {
      const form = find(bytes);
      if (form !== undefined) throw new Error(`Key ${index} is in ${name} (${form}).`);
    }
  };

  const schedule = startProgram('schedule', [], {
    ...environment,
    GENERATE_CRON: '*/5 * * * * *',
  });
  const scheduled = finish(schedule);
  await keys('revoke', '2', '--reason', 'a test');
  await until(
    () => statSync(path.join(snapshotsDir, CURRENT), { throwIfNoEntry: false }) !== undefined,
  );
  const accessLog = path.join(makeFolder(), 'access.log');
  const proxy = await startProxyProgram(snapshotsDir, {
    LOG_LEVEL: 'debug',
    ACCESS_LOG: 'all',
    ACCESS_LOG_FILE: accessLog,
    PROXY_THREADS: '2',
    ADDRESS_RATE_LIMIT: '100000',
    TRUSTED_PROXIES: '127.0.0.1',
  });
  const stats = (key: string) => proxy.get('/stats', key);
  await until(async () => (await stats(approved)).status === 200);
  await until(async () => (await stats(revoked)).status === 401);
  const nginx = await startNginx(proxy.port);
  const ways: (() => Promise<Socket>)[] = [() => openTls(nginx), () => openSocket(proxy.port)];

  const statuses = new Map<number, number>();
  let sent = 0;
  const sendAll = async (makeBytes: readonly (() => string)[]) => {
    const waiting = ways.flatMap((open) => makeBytes.map((make) => [open, make] as const));
    const client = async () => {
      for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
        const [open, make] = next;
        const bytes = make();
        const socket = (await open()).on('error', () => {});
        const [method] = bytes.split(' ', 1);
        const { replies, rest } = await exchange(socket, bytes, [method], false);
        socket.destroy();
        sent++;
        expectNoTrace('bytes after the last response', rest);
        for (const { status, headers, body } of replies) {
          statuses.set(status, (statuses.get(status) ?? 0) + 1);
          expectNoTrace(`a body of ${status}`, body);
          for (const [name, value] of headers) expectNoTrace(`${name} of ${status}`, value);
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, client));
  };

  await sendAll(canaries.flatMap(misplace).map((bytes) => () => bytes));
  const random = makeRandom(11);
  const targets = ['/api/v1/stats', '/api/v1/search', '/api/v1/games/snes/chrono-trigger', '/docs'];
  const fuzzers = canaries.map((key) =>
    makeHostile(random, { key, host: SERVER_NAME, targets, snapshot: '000001-0123456789ab' }),
  );
  await sendAll(
    Array.from({ length: FUZZED / 2 }, (_, i) => () => fuzzers[i % fuzzers.length]?.().bytes ?? ''),
  );
  // Causes an error inside the proxy by damaging its files while it serves them.
  const packs = path.join(snapshotsDir, CURRENT, 'games');
  for (const pack of readdirSync(packs)) truncateSync(path.join(packs, pack), 1);
  await sendAll([
    () =>
      `GET /api/v1/search?q=m&include=cover HTTP/1.1\r\nHost: x\r\nConnection: close\r\nReferer: ${approved}\r\nX-Api-Key: ${approved}\r\n\r\n`,
  ]);
  for (const status of [200, 204, 400, 401, 404, 405, 431, 500]) {
    expect(statuses.get(status), `${status}`).toBeGreaterThan(0);
  }
  expect(proxy.log()).toContain('a request failed');

  for (const name of ['metrics', 'readyz', 'healthz', approved]) {
    const { text, status } = await send(`${proxy.adminUrl}/${name}`);
    outputs.push([`${name} (${status})`, text]);
  }
  const { stdout: table } = await keys('list');
  const { stdout: json } = await keys('list', '--json');
  // The list shows the first characters of each key.
  expect(json).toContain(approved.slice(0, 8));
  outputs.push(['list', table], ['list --json', json]);
  expect(await proxy.stop()).toBe(0);
  expect(await end(schedule, 'SIGTERM')).toBe(0);
  await nginx.stop();
  const accesses = readFileSync(accessLog, 'utf8');
  expect(accesses.split('\n').length).toBeGreaterThan(500);
  outputs.push(['the access log', accesses]);
  const { stdout: own, stderr: log } = await scheduled;
  outputs.push(['the proxy', proxy.log()], ['the schedule', own + log]);
  for (const [name, text] of Object.entries(nginx.logs())) outputs.push([`nginx ${name}`, text]);
  const files = readFolder(snapshotsDir);
  expect(files.length).toBeGreaterThan(10);
  const keysFile = files.find(([name]) => name.endsWith('keys.json'))?.[1].toString() ?? '';
  expect(keysFile).toContain(hashKey(approved));
  const database = new URL(DATABASE_URL).pathname.slice(1);
  const [command, args] = (await sharedServer()).dumpCommand(database);
  const { stdout: dump } = await promisify(execFile)(command, args, { maxBuffer: 2 ** 28 });
  expect(dump).toContain(hashKey(approved));
  outputs.push(...files, ['the dump', dump]);
  for (const [name, bytes] of outputs) expectNoTrace(name, bytes);

  const bytes = outputs.reduce((sum, [, text]) => sum + text.length, 0);
  printFigure(
    'Keys leak nowhere',
    `${canaries.length} canaries in ${sent} requests, ${outputs.length} files, logs and dumps (${(bytes / 2 ** 20).toFixed(1)} MiB): 0 found`,
  );
});
