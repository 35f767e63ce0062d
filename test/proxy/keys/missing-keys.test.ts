/**
 * A generation without keys: clients get a short error, the log and `/readyz` give operators the
 * cause, and the proxy serves as soon as it can read the keys.
 */
import { execFileSync } from 'node:child_process';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { LARGEST_KEYS_FILE } from '../../../format/keys-file.ts';
import { KEYS_FILE } from '../../../format/layout.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { makeContractChecker } from '../../support/openapi.ts';
import { QUICK_POLLS, UNPRIVILEGED } from '../../support/processes.ts';
import {
  type ProxyProgram,
  send,
  startProxyProgram,
  testKey,
  until,
  writeKeys,
} from '../../support/product.ts';

const key = testKey(1);
const headers = { 'x-api-key': key.key };
const STATS = '/api/v1/stats';
const contract = makeContractChecker();

let dir: string;
let file: string;
let proxy: ProxyProgram;

beforeEach(async () => {
  dir = await makeSampleSnapshots();
  file = path.join(dir, KEYS_FILE);
  rmSync(file);
  proxy = await startProxyProgram(dir, QUICK_POLLS, UNPRIVILEGED);
});
afterEach(async () => {
  chmodSync(dir, 0o700);
  await proxy.stop();
});

const owner = `uid ${process.getuid?.()} and gid ${process.getgid?.()}`;
const faults: [string, () => void, () => string][] = [
  ['absent', () => {}, () => `There is no keys.json in ${dir}.`],
  ['not JSON', () => writeFileSync(file, '{'), () => 'keys.json is damaged: it is not JSON.'],
  [
    'too large',
    () => writeFileSync(file, Buffer.alloc(LARGEST_KEYS_FILE + 1)),
    () => `keys.json is larger than ${LARGEST_KEYS_FILE} bytes.`,
  ],
  ['a folder', () => mkdirSync(file), () => 'keys.json is a directory, not a regular file.'],
  [
    'a named pipe',
    () => execFileSync('mkfifo', [file]),
    () => 'keys.json is a named pipe, not a regular file.',
  ],
  [
    'one that the proxy may not read',
    () => writeFileSync(file, '', { mode: 0o200 }),
    () =>
      `keys.json cannot be read: permission denied. ${file} has mode 0200 and belongs to ${owner}; this program runs as ${owner}.`,
  ],
  [
    'in a folder that the proxy may not enter',
    () => chmodSync(dir, 0o600),
    () =>
      `keys.json cannot be read: permission denied. ${dir} has mode 0600 and belongs to ${owner}; this program runs as ${owner}.`,
  ],
];

const INFO = 30;
const WARNING = 40;

describe('keys.json is', () => {
  test.each(faults)('%s: clients get 503, and operators the cause', async (name, damage, why) => {
    damage();
    const ready = () => proxy.readyz();
    await until(async () => (await ready()).json.keys_error?.startsWith(why()));
    const { status, json } = await ready();
    expect([status, json.ready, json.keys]).toEqual([503, false, null]);
    expect(json.snapshot).not.toBe(null);

    const reply = await send(proxy.url + STATS, { headers });
    expect([reply.status, reply.text]).toEqual([503, '{"error":"No API keys yet"}']);
    expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    contract.check('GET', STATS, reply.status, reply.headers, reply.text);

    const told = () =>
      proxy
        .log()
        .split('\n')
        .filter((line) => /requests with a key get 503/i.test(line))
        .map((line) => JSON.parse(line))
        .find(({ err, msg }) => (err?.message ?? msg).startsWith(why()));
    await until(() => told() !== undefined);
    // Before the first export, a missing file is no fault.
    expect(told().level).toBe(name === 'absent' ? INFO : WARNING);

    chmodSync(dir, 0o700);
    rmSync(file, { recursive: true, force: true });
    writeKeys(dir, [key]);
    await until(async () => (await send(proxy.url + STATS, { headers })).status === 200);
    expect((await ready()).json).toMatchObject({ ready: true, keys: 1, keys_error: null });
  });
});

test('known keys stay valid if the file can no longer be read', async () => {
  writeKeys(dir, [key]);
  await until(async () => (await send(proxy.url + STATS, { headers })).status === 200);
  writeFileSync(file, 'x');
  const ready = () => proxy.readyz();
  await until(async () => (await ready()).json.keys_error !== null);
  const { status, json } = await ready();
  expect([status, json.ready, json.keys]).toEqual([200, true, 1]);
  expect(json.keys_error).toBe('keys.json is damaged: it is not JSON.');
  expect((await send(proxy.url + STATS, { headers })).status).toBe(200);
  expect(proxy.log()).toContain('the last known keys stay valid');
});

test('every serving thread gives the same error', async () => {
  const several = await startProxyProgram(dir, { PROXY_THREADS: '3' });
  const texts = new Set<string>();
  await until(async () => (await several.readyz()).json.snapshot !== null);
  for (let i = 0; i < 30; i++) {
    texts.add(
      (await send(several.url + STATS, { headers: { ...headers, connection: 'close' } })).text,
    );
  }
  expect([...texts]).toEqual(['{"error":"No API keys yet"}']);
  await several.stop();
});
