/**
 * A snapshots folder that other software has changed: a `keys.json` that is too large, or a `current`
 * that does not point to a generation. The proxy logs it once and continues with what it has.
 */
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { LARGEST_KEYS_FILE } from '#lib/format/keys-file.ts';
import { CURRENT, GENERATIONS, KEYS_FILE } from '#lib/format/layout.ts';
import { currentId } from '#lib/generations/generations.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { NEVER, type RunningProxy, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import { expectOneClearLine, runGenerator } from '#test/support/wholeness.ts';

const key = testKey(1);
const another = testKey(2);
let dir: string;

beforeEach(async () => {
  dir = await makeSampleSnapshots([key]);
});

const keysFile = () => path.join(dir, KEYS_FILE);
const link = () => path.join(dir, CURRENT);
const TOO_LARGE = `keys.json is larger than ${LARGEST_KEYS_FILE} bytes.`;
const statusFor = async (proxy: RunningProxy, { key: secret } = key) =>
  (await proxy.get('/stats', secret)).status;
const readiness = async (proxy: RunningProxy) => (await proxy.readyz()).json;
const times = (proxy: RunningProxy, text: string) => proxy.log().split(text).length - 1;

test('a keys.json that is too large is not read: the keys stay valid, and it is logged once', async () => {
  writeFileSync(keysFile(), readFileSync(keysFile(), 'utf8').padEnd(LARGEST_KEYS_FILE));
  const proxy = await startProxy(dir, {}, NEVER);
  expect(await statusFor(proxy)).toBe(200);
  writeKeys(dir, [another]);
  truncateSync(keysFile(), LARGEST_KEYS_FILE + 1);
  await proxy.refresh();
  await proxy.refresh();
  expect(times(proxy, 'cannot read the keys')).toBe(1);
  expect(proxy.log()).toContain(TOO_LARGE);
  expect([await statusFor(proxy), await statusFor(proxy, another)]).toEqual([200, 401]);
  writeKeys(dir, [another]);
  await proxy.refresh();
  expect([await statusFor(proxy), await statusFor(proxy, another)]).toEqual([401, 200]);
});

describe('a current that does not point to a generation', () => {
  /** Each creates one. */
  const ODD: readonly ((file: string) => void)[] = [
    ...['elsewhere', `${GENERATIONS}/latest`, `${GENERATIONS}/1-0123456789ab`, '..', '/etc'].map(
      (target) => (file: string) => symlinkSync(target, file),
    ),
    (file) => writeFileSync(file, `${GENERATIONS}/000001-0123456789ab`),
    (file) => mkdirSync(file),
  ];
  /** The error about it, as text or inside JSON. */
  const FAULT = /current\\?" points to \S+, which is not a generation|EINVAL.*current/;
  const replaceLink = (put: (file: string) => void) => {
    rmSync(link(), { recursive: true });
    put(link());
  };

  test('is logged once, and the proxy keeps serving until it points to one', async () => {
    const before = readlinkSync(link());
    const proxy = await startProxy(dir, {}, NEVER);
    const pointTo = async (target: string) => {
      replaceLink((file) => symlinkSync(target, file));
      await proxy.refresh();
      return (await readiness(proxy)).refused;
    };
    for (const [number, put] of ODD.entries()) {
      replaceLink(put);
      await proxy.refresh();
      await proxy.refresh();
      expect(proxy.log().trimEnd().split('\n').at(-1)).toMatch(FAULT);
      expect(times(proxy, 'cannot read the current snapshot')).toBe(number + 1);
      expect(await statusFor(proxy)).toBe(200);
      const state = { ready: true, snapshot: path.basename(before), refused: null };
      expect(await readiness(proxy)).toMatchObject(state);
      // The proxy still polls: a missing generation is refused with its id.
      const missing = '000009-0123456789ab';
      expect(await pointTo(`${GENERATIONS}/${missing}`)).toMatchObject({ id: missing });
      expect(await pointTo(before)).toBeNull();
    }
  });

  test('is reported by the generator, which changes nothing', async () => {
    const url = await makeSampleSqlite();
    const before = readdirSync(path.join(dir, GENERATIONS));
    for (const put of ODD) {
      replaceLink(put);
      expect(() => currentId(dir)).toThrow(FAULT);
    }
    expect(expectOneClearLine(await runGenerator(url, dir))).toMatch(FAULT);
    expect(readdirSync(path.join(dir, GENERATIONS))).toEqual(before);
  });
});
