/**
 * Publishing under disturbances: other programs that write, a killed run, a signal, a full disk, a database
 * that is gone. `current` always points to a generation that verifies.
 */
import { mkdirSync, readdirSync, rmSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkFind } from '#find/check.ts';
import { GENERATIONS, sequenceOf } from '#lib/format/layout.ts';
import { currentId, idsOnDisk, pointCurrentTo } from '#lib/generations/generations.ts';
import { LockedError, withRunLock } from '#lib/generations/lock.ts';
import { prune } from '#lib/generations/prune.ts';
import { rollbackTo } from '#lib/generations/rollback.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { disturbed, noSpace } from '#test/lib/generations/disk.ts';
import { end, finish, generate } from '#test/support/product.ts';
import { filesOf, inodesOf } from '#test/support/replicas.ts';
import {
  expectCurrentVerifies,
  expectNoDebris,
  makeChanging,
  makePublished,
  newSnapshots,
  runGenerator,
  startGenerator,
  statusOf,
} from '#test/support/wholeness.ts';

const KEEP = { generations: 5, days: 7 };
/** How a rollback is done here. */
const HOW = { withTakenDown: true, warn() {}, checkFind, keep: KEEP };
const onlyLast = (generations: number) => ({ generations, days: 0 });

test('a run that cannot export the keys reports it, and that its generation is current', async () => {
  const { database, snapshotsDir: dir } = await makePublished();
  await database.change();
  const before = currentId(dir);
  // The folder is not empty, because an empty one would be replaced.
  rmSync(path.join(dir, 'keys.json'), { force: true });
  mkdirSync(path.join(dir, 'keys.json', 'not-empty'), { recursive: true });
  const started = Math.floor(Date.now() / 1000) * 1000;
  const { code, stderr } = await runGenerator(database.url, dir);
  expect(code).toBe(1);
  const id = currentId(dir);
  expect(id).not.toBe(before);
  expect(stderr).toContain(`export the keys (${id} is current): `);
  const status = statusOf(dir);
  expect(status).toMatchObject({ outcome: 'failed', error: expect.stringContaining(`${id}`) });
  expect(Date.parse(status.current_as_of ?? '')).toBeGreaterThanOrEqual(started);
});

/** Variables with which a run gets a signal as soon as it has the folder of its generation. */
function signalledBy(signal: string) {
  const script = `
    import fs from 'node:fs';
    import { syncBuiltinESMExports } from 'node:module';
    const { mkdirSync } = fs;
    fs.mkdirSync = (folder, ...rest) => {
      const made = mkdirSync(folder, ...rest);
      if (folder.includes('/generations/')) process.kill(process.pid, '${signal}');
      return made;
    };
    syncBuiltinESMExports();`;
  return { NODE_OPTIONS: `--import data:text/javascript,${encodeURIComponent(script)}` };
}

describe('only one program writes at a time', () => {
  test('a run exits with 4 while another program writes, and works after that was killed', async () => {
    const { database, snapshotsDir: dir } = await makePublished();
    const status = statusOf(dir);
    const other = startGenerator(database.url, dir, [], signalledBy('SIGSTOP'));
    const generations = () => readdirSync(path.join(dir, GENERATIONS));
    await expect.poll(generations, { timeout: 30_000 }).toHaveLength(2);
    const { code, stdout, stderr } = await runGenerator(database.url, dir);
    expect([code, stdout]).toEqual([4, '']);
    expect(stderr).toContain(`Another run (process ${other.pid}) is writing`);
    expect(statusOf(dir)).toEqual(status);
    await end(other, 'SIGKILL');
    await database.publish(dir);
    expect(idsOnDisk(dir)).toHaveLength(2);
    expectNoDebris(dir);
  });

  test('a rollback and a prune are refused while another program writes', async () => {
    const dir = await makeSampleSnapshots();
    const id = currentId(dir) as string;
    await withRunLock(dir, async () => {
      await expect(rollbackTo(dir, id, HOW)).rejects.toThrow(LockedError);
      await expect(prune(dir, onlyLast(1))).rejects.toThrow(String(process.pid));
    });
    expect(await prune(dir, onlyLast(1))).toEqual([]);
  });

  test('an error names a lock that cannot be opened', async () => {
    const dir = newSnapshots();
    mkdirSync(path.join(dir, 'lock'), { recursive: true });
    const { code, stderr } = await runGenerator(await makeSampleSqlite(), dir);
    expect([code, stderr]).toEqual([1, expect.stringContaining(`lock ${dir}/lock: `)]);
  });
});

describe('a run that is interrupted', () => {
  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('by %s leaves no files behind', async (signal, expected) => {
    const dir = newSnapshots();
    const url = await makeSampleSqlite();
    const { code, stdout } = await finish(startGenerator(url, dir, [], signalledBy(signal)));
    expect([code, stdout]).toEqual([expected, '']);
    expect(currentId(dir)).toBe(undefined);
    expectNoDebris(dir);
  });

  async function expectFailed(
    dir: string,
    before: string | undefined,
    { code, stdout, stderr }: Awaited<ReturnType<typeof finish>>,
  ): Promise<string> {
    expect([code, stdout]).toEqual([1, '']);
    expect(currentId(dir)).toBe(before);
    await expectCurrentVerifies(dir);
    expect(statusOf(dir)).toMatchObject({ outcome: 'failed', current_as_of: expect.any(String) });
    return stderr.trimEnd().split('\n').at(-1) ?? '';
  }

  /** Steps of publishing, the first one first. */
  const steps: ['renameSync' | 'fsyncSync', RegExp][] = [
    ['fsyncSync', /generation\/games$/],
    ['renameSync', /\/generation$/],
    ['fsyncSync', /generations$/],
    ['renameSync', /\/[^/]*current[^/]*$/],
  ];
  test.each(steps)(
    'because %s of %s fails keeps the old generation, and the next run publishes',
    async (name, wanted) => {
      const { database, snapshotsDir: dir } = await makePublished();
      const before = currentId(dir);
      await database.change();
      let calls = 0;
      const failFirst = () => calls++ === 0 && noSpace();
      const ended = await disturbed(name, wanted, failFirst, () => runGenerator(database.url, dir));
      expect(calls).toBeGreaterThan(0);
      expect(await expectFailed(dir, before, ended)).toContain('ENOSPC');
      await generate(database.url, dir);
      expect(await expectCurrentVerifies(dir)).not.toBe(before);
      expectNoDebris(dir);
    },
  );
});

describe('kept generations', () => {
  test('share exactly the files that did not change', async () => {
    const { database, snapshotsDir: dir } = await makePublished();
    const first = currentId(dir) as string;
    const second = await database.publish(dir);
    const [before, after] = [filesOf(dir, first), filesOf(dir, second)];
    const [inodes, now] = [inodesOf(dir, first), inodesOf(dir, second)];
    const names = [...before.keys()];
    const shared = names.filter((name) => inodes.get(name) === now.get(name));
    const same = names.filter((name) => before.get(name)?.equals(after.get(name) as Buffer));
    expect(shared).toEqual(same);
    expect(shared.length).toBeGreaterThan(names.length / 2);
    expect(shared).not.toContain('manifest.json');
  });

  test('are the last five up to the current one', async () => {
    const dir = newSnapshots();
    const database = await makeChanging(seededCatalogue({ games: 6, seed: 8, platforms: 3 }));
    const ids: string[] = [];
    for (let run = 0; run < KEEP.generations + 2; run++) ids.push(await database.publish(dir));
    expect(idsOnDisk(dir)).toEqual(ids.slice(-KEEP.generations));
    const oldest = ids.at(-KEEP.generations) as string;
    const { id } = await rollbackTo(dir, oldest, HOW);
    // The oldest is gone, but its content is current.
    expect(idsOnDisk(dir)).toEqual([...ids.slice(1 - KEEP.generations), id]);
    expect(await prune(dir, onlyLast(2))).toEqual(ids.slice(1 - KEEP.generations, -1));
    expect(idsOnDisk(dir)).toEqual([ids.at(-1), id]);
    expect(sequenceOf(await database.publish(dir))).toBe(KEEP.generations + 4);
    // Whatever is newer than the current generation never became current, or was given up.
    pointCurrentTo(dir, id);
    await prune(dir, onlyLast(1));
    expect(idsOnDisk(dir)).toEqual([id]);
    expectNoDebris(dir);
  });
});
