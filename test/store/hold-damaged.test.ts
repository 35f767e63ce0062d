/** A hold file that cannot be read pauses publishing and pruning, until an operator replaces or removes it. */
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { LARGEST_HOLD_FILE, parseHold } from '../../format/hold-file.ts';
import { idsOnDisk } from '../../store/generations/generations.ts';
import { finish, startProxy } from '../support/product.ts';
import { startGenerator } from '../support/wholeness.ts';
import {
  currentOf,
  holdFile,
  makePublisher,
  REFUSED,
  readHold,
  snapshot,
} from './hold-snapshots.ts';

let makePublished: Awaited<ReturnType<typeof makePublisher>>;
beforeAll(async () => {
  makePublished = await makePublisher();
});

describe('a damaged hold file', () => {
  const good = {
    version: 1,
    id: '000001-0123456789ab',
    since: '2026-01-02T03:04:05Z',
    reason: null,
    by: 'hold',
  };
  const damages: [string, string][] = [
    ['empty', ''],
    ['truncated', JSON.stringify(good).slice(0, 40)],
    ['null', 'null'],
    ['with an id that leaves the folder', JSON.stringify({ ...good, id: '../../etc' })],
    ['without a valid time', JSON.stringify({ ...good, since: 'yesterday' })],
    ['with a reason in two lines', JSON.stringify({ ...good, reason: 'a\nb' })],
    ['with an unknown command', JSON.stringify({ ...good, by: 'someone' })],
    ['of a future version', JSON.stringify({ ...good, version: 2 })],
  ];

  test.each(damages)('cannot be parsed: %s', (_, text) => {
    expect(parseHold(JSON.stringify(good)).id).toBe(good.id);
    expect(() => parseHold(text)).toThrow();
  });

  test.each([
    ['a dangling symbolic link', 'absent'],
    ['a symbolic link to itself', 'hold.json'],
  ])('pauses publishing even if it is %s', async (_, target) => {
    const { dir, url, ids } = makePublished(1);
    symlinkSync(target, holdFile(dir));
    const { code, stderr } = await finish(startGenerator(url, dir));
    expect(code).toBe(REFUSED);
    expect(stderr).toContain('cover-catalogue snapshot resume');
    expect(idsOnDisk(dir)).toEqual(ids);
    const proxy = await startProxy(dir);
    const { json } = await proxy.readyz();
    expect(json.held).toMatchObject({ id: null, error: expect.stringContaining('symbolic link') });
    expect(await proxy.metrics()).toMatch(/^snapshot_held 1$/m);
    await proxy.stop();
  });

  test('pauses publishing and pruning, and every message says what to do', async () => {
    const { dir, url, ids } = makePublished(3);
    const proxy = await startProxy(dir);
    const fault = /hold\.json is (?:damaged: it is not JSON|larger than 16384 bytes)\./;
    for (const text of ['', JSON.stringify(good).padEnd(LARGEST_HOLD_FILE + 1)]) {
      writeFileSync(holdFile(dir), text);
      const run = await finish(startGenerator(url, dir));
      expect(run.code).toBe(REFUSED);
      const prune = await snapshot(dir, 'prune', '--keep', '1');
      expect(prune.code).toBe(1);
      for (const { stderr } of [run, prune, await snapshot(dir, 'list')]) {
        expect(stderr).toMatch(fault);
        expect(stderr).toContain('cover-catalogue snapshot resume');
      }
      const { status, json } = await proxy.readyz();
      expect(json.held).toEqual({
        id: null,
        since: null,
        reason: null,
        error: expect.stringMatching(fault),
      });
      expect(status).toBe(json.keys === null ? 503 : 200);
      expect(await proxy.metrics()).toMatch(/^snapshot_held 1$/m);
    }
    expect(idsOnDisk(dir)).toEqual(ids);
    await proxy.stop();
  });

  test('is replaced if it is an empty directory, and named in an error if that is not empty', async () => {
    const { dir, ids } = makePublished(2);
    mkdirSync(holdFile(dir));
    expect((await snapshot(dir, 'hold')).code).toBe(0);
    expect(readHold(dir).id).toBe(ids[1]);
    rmSync(holdFile(dir));
    mkdirSync(path.join(holdFile(dir), 'x'), { recursive: true });
    for (const args of [['hold'], ['rollback', ids[0]]]) {
      const { code, stderr } = await snapshot(dir, ...args);
      expect(code).toBe(1);
      expect(stderr).toContain(`${holdFile(dir)} is a directory (ENOTEMPTY`);
      expect(stderr).toContain('move it away, then run the command again.');
      expect(stderr).toContain(`The current generation is ${ids[1]}. hold.json is a directory`);
      expect(stderr).toContain('stays paused until');
    }
    expect([currentOf(dir), existsSync(path.join(holdFile(dir), 'x'))]).toEqual([ids[1], true]);
  });

  test('is replaced by hold and rollback, and removed by resume', async () => {
    const { dir, ids } = makePublished(2);
    writeFileSync(holdFile(dir), 'x');
    await snapshot(dir, 'hold');
    expect(readHold(dir).id).toBe(ids[1]);
    writeFileSync(holdFile(dir), 'x');
    await snapshot(dir, 'rollback', ids[0]);
    expect(readHold(dir).id).toBe(currentOf(dir));
    expect(currentOf(dir)).not.toBe(ids[1]);
    writeFileSync(holdFile(dir), 'x');
    expect((await snapshot(dir, 'resume')).code).toBe(0);
    mkdirSync(holdFile(dir));
    expect((await snapshot(dir, 'resume')).code).toBe(0);
    expect(existsSync(holdFile(dir))).toBe(false);
  });
});
