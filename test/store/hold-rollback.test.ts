/** A rollback holds the generation that it publishes, unless it fails. A full disk changes nothing. */
import { cpSync, existsSync, mkdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { COVER_INDEX } from '../../format/layout.ts';
import { generationDir, idsOnDisk } from '../../store/generations/generations.ts';
import { withLock } from '../../store/lock.ts';
import { KEPT_GENERATIONS } from '../../store/prune.ts';
import { freeKilobytes, mountSmallDisk } from '../soak/support/small-disk.ts';
import { finish, generate } from '../support/product.ts';
import { startGenerator } from '../support/wholeness.ts';
import {
  currentOf,
  holdFile,
  makePublisher,
  REFUSED,
  readHold,
  snapshot,
} from './hold-snapshots.ts';

const LOCKED = 4;

let makePublished: Awaited<ReturnType<typeof makePublisher>>;
beforeAll(async () => {
  makePublished = await makePublisher();
});

describe('rollback', () => {
  test('holds its generation, which neither a run nor a prune removes', async () => {
    const { dir, url, ids } = makePublished(KEPT_GENERATIONS);
    const [oldest] = ids as [string];
    const { code, stdout, stderr } = await snapshot(
      dir,
      'rollback',
      oldest,
      '--reason',
      'bad data',
    );
    const id = currentOf(dir);
    expect([code, stdout]).toEqual([0, `${id} is current, with the content of ${oldest}.\n`]);
    expect(stderr).toMatch(
      /^Publishing is held at \S+ since \S+ by a rollback \(bad data\)\. .*resume/,
    );
    expect((await finish(startGenerator(url, dir))).code).toBe(REFUSED);
    expect([currentOf(dir), idsOnDisk(dir)]).toEqual([id, [...ids.slice(1), id]]);
    await snapshot(dir, 'prune', '--keep', '1');
    expect(idsOnDisk(dir)).toEqual([id]);
  });

  test('is kept by the next run after a resume, which publishes', async () => {
    const { dir, url, ids } = makePublished(2);
    await snapshot(dir, 'rollback', ids[0]);
    const id = currentOf(dir);
    await snapshot(dir, 'resume');
    await generate(url, dir);
    expect(idsOnDisk(dir)).toEqual([...ids, id, currentOf(dir)]);
    // If the new generation is bad too, the operator can roll back again.
    const { code, stdout } = await snapshot(dir, 'rollback', id);
    expect([code, stdout]).toEqual([0, expect.stringContaining(`with the content of ${id}.`)]);
  });

  test('to another generation moves the hold and keeps its time and reason', async () => {
    const { dir, ids } = makePublished(3);
    await snapshot(dir, 'rollback', ids[1], '--reason', 'bad data');
    const first = readHold(dir);
    expect(first).toMatchObject({ id: currentOf(dir), by: 'rollback', reason: 'bad data' });
    await snapshot(dir, 'rollback', ids[0]);
    expect(readHold(dir)).toEqual({ ...first, id: currentOf(dir) });
    expect(currentOf(dir)).not.toBe(first.id);
  });

  test('that fails does not change the hold', async () => {
    const { dir, ids } = makePublished(2);
    const [first] = ids as [string];
    truncateSync(path.join(generationDir(dir, first), COVER_INDEX), 100);
    expect((await snapshot(dir, 'rollback', first)).code).toBe(1);
    expect(existsSync(holdFile(dir))).toBe(false);
    // The last step fails, because a folder has the name of the link that it moves.
    const blocked = makePublished(2);
    const [older, newer] = blocked.ids as [string, string];
    rmSync(path.join(blocked.dir, 'current'));
    mkdirSync(path.join(blocked.dir, 'current/x'), { recursive: true });
    const { code, stderr } = await snapshot(blocked.dir, 'rollback', older, '--with-taken-down');
    expect([code, stderr]).toEqual([1, expect.stringContaining('point "current"')]);
    expect(stderr).toContain('Publishing is not held.');
    expect(existsSync(holdFile(blocked.dir))).toBe(false);
    expect(idsOnDisk(blocked.dir)).toEqual([older, newer]);
  });

  test('with --no-hold lets the next run publish, and is refused while publishing is held', async () => {
    const { dir, url, ids } = makePublished(2);
    expect((await snapshot(dir, 'rollback', ids[0], '--no-hold')).code).toBe(0);
    expect(existsSync(holdFile(dir))).toBe(false);
    await generate(url, dir);
    const current = currentOf(dir);
    await snapshot(dir, 'hold');
    const { code, stderr } = await snapshot(dir, 'rollback', ids[0], '--no-hold');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Publishing is held')]);
    expect(currentOf(dir)).toBe(current);
  });

  test('does not wait for a run under way', async () => {
    const { dir, ids } = makePublished(2);
    await withLock(dir, async () => {
      expect((await snapshot(dir, 'rollback', ids[0])).code).toBe(LOCKED);
    });
    expect(existsSync(holdFile(dir))).toBe(false);
  });
});

test('on a full disk, hold and rollback change nothing and say what to do', async ({ skip }) => {
  const disk = await mountSmallDisk(8 * 1024);
  if (disk === undefined) return skip('this machine does not let us mount a disk');
  try {
    const { dir: source, ids } = makePublished(2);
    const [older, newer] = ids as [string, string];
    const dir = path.join(disk.root, 'snapshots');
    cpSync(source, dir, { recursive: true, verbatimSymlinks: true });
    const ballast = path.join(disk.root, 'ballast');
    const run = (...args: string[]) => disk.run('commands/snapshot.ts', args);
    const expectFull = async (state: string, ...args: string[]) => {
      writeFileSync(ballast, Buffer.alloc(freeKilobytes(disk.root) * 1024));
      const { code, stderr } = await run(...args);
      expect(code).toBe(1);
      expect(stderr).toMatch(/ENOSPC: no space left/);
      expect(stderr).toContain(`The current generation is ${newer}. ${state}`);
      expect(stderr).toMatch(/Free space on the disk of \/\S+\/snapshots, then run this command/);
      expect(currentOf(dir)).toBe(newer);
      rmSync(ballast);
    };
    await expectFull('Publishing is not held. Free', 'hold');
    await expectFull('Publishing is not held. Free', 'rollback', older);
    expect(existsSync(holdFile(dir))).toBe(false);
    expect((await run('hold', '--reason', 'a test')).code).toBe(0);
    await expectFull(`Publishing is held at ${newer} since `, 'rollback', older);
    expect(readHold(dir)).toMatchObject({ id: newer, reason: 'a test' });
    expect((await run('rollback', older)).code).toBe(0);
    expect(currentOf(dir)).not.toBe(newer);
    expect(readHold(dir).id).toBe(currentOf(dir));
  } finally {
    await disk.unmount();
  }
});
