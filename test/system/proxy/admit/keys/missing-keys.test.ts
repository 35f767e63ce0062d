/** A keys file that is missing or damaged from the start: clients get 503. */
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { KEYS_FILE } from '#lib/format/layout.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { checkContract } from '#test/support/openapi.ts';
import {
  NEVER,
  type RunningProxy,
  send,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';

const key = testKey(1);
const headers = { 'x-api-key': key.key };
const STATS = '/api/v1/stats';

let dir: string;
let file: string;

beforeEach(async () => {
  dir = await makeSampleSnapshots();
  file = path.join(dir, KEYS_FILE);
  rmSync(file);
});

const start = () => startProxy(dir, {}, NEVER);
const ask = (proxy: RunningProxy) => send(proxy.url + STATS, { headers });

const INFO = 30;
const WARNING = 40;

/** Clients get 503, and operators the cause: in `/readyz`, and once in the log. */
async function expectCause(proxy: RunningProxy, cause: string, level: number): Promise<void> {
  const { status, json } = await proxy.readyz();
  expect([status, json.ready, json.keys]).toEqual([503, false, null]);
  expect(json.keys_error).toContain(cause);
  expect(json.snapshot).not.toBe(null);

  const reply = await ask(proxy);
  expect([reply.status, reply.text]).toEqual([503, '{"error":"No API keys yet"}']);
  expect(reply.headers['retry-after']).toMatch(/^[1-9]\d*$/);
  checkContract('GET', STATS, reply);

  const lines = proxy.log().match(/^.*requests with a key get 503.*$/gim) ?? [];
  const told = lines
    .map((line) => JSON.parse(line))
    .filter(({ err, msg }) => (err?.message ?? msg).startsWith(cause));
  expect(told.map((line) => line.level)).toEqual([level]);
}

const faults: [string, () => void, () => string][] = [
  ['absent', () => {}, () => `There is no keys.json in ${dir}.`],
  ['not JSON', () => writeFileSync(file, '{'), () => 'keys.json is damaged: it is not JSON.'],
];

test.each(faults)(
  'keys.json is %s: clients get 503, and operators the cause',
  async (name, damage, why) => {
    damage();
    const proxy = await start();
    await proxy.refresh();
    // Before the first export, a missing file is no fault.
    await expectCause(proxy, why(), name === 'absent' ? INFO : WARNING);
    rmSync(file, { recursive: true, force: true });
    writeKeys(dir, [key]);
    await proxy.refresh();
    expect((await ask(proxy)).status).toBe(200);
    expect((await proxy.readyz()).json).toMatchObject({ ready: true, keys: 1, keys_error: null });
  },
);
