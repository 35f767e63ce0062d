/**
 * A hold pauses only publishing. No run publishes, not even one under way, but keys still reach the
 * proxy. The held generation stays on disk, and every command and the proxy report the hold. A rollback
 * holds the generation that it publishes. A hold file that cannot be read pauses publishing and pruning,
 * until an operator replaces or removes it.
 */
import {
  cpSync,
  existsSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { runSnapshot } from '#cli/snapshot.ts';
import { holdFile, LONGEST_REASON } from '#lib/format/hold-file.ts';
import { LARGEST_JSON_FILE } from '#lib/format/json/parse-file.ts';
import { HOLD_FILE } from '#lib/format/layout.ts';
import { currentId, idsOnDisk, pointCurrentTo } from '#lib/generations/generations.ts';
import { withRunLock } from '#lib/generations/lock.ts';
import { startSchedule } from '#test/generator/schedule/start-schedule.ts';
import { disturbed, noSpace } from '#test/lib/generations/disk.ts';
import { makeLog } from '#test/support/log.ts';
import { generate, makeFolder, runKeys, runSnapshots, startProxy } from '#test/support/product.ts';
import {
  makeChanging,
  newSnapshots,
  reportOf,
  runGenerator,
  statusOf,
} from '#test/support/wholeness.ts';

/** How many generations are kept, if all are of one day. */
const KEPT = 5;
/** The exit code of a run that publishes nothing. */
const REFUSED = 3;
const SINCE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

const GOOD = {
  ...{ version: 1, id: '000001-0123456789ab', since: '2026-01-02T03:04:05Z', reason: null },
  by: 'hold',
} as const;

/** A copy for each test. */
let dir: string;
let url: string;

const database = await makeChanging();
/** A folder with as many generations as are kept, and a database with a change that is not published. */
const template = path.dirname(database.url.replace('sqlite:', ''));
const snapshots = path.join(template, 'snapshots');
for (let run = 0; run < KEPT; run++) await database.publish(snapshots);
await database.change();
/** The generations in it, the oldest first; the last one is current. */
const ids = idsOnDisk(snapshots);
const [oldest, newest] = [ids[0], ids.at(-1) as string];
beforeEach(() => {
  const folder = makeFolder();
  cpSync(template, folder, { recursive: true, verbatimSymlinks: true, preserveTimestamps: true });
  dir = path.join(folder, 'snapshots');
  url = `sqlite:${path.join(folder, 'catalogue.db')}`;
});

const snapshot = (...args: string[]) => runSnapshots(dir, ...args);
const rollback = (id: string, ...args: string[]) =>
  snapshot('rollback', id, '--with-taken-down', ...args);
const holdPath = () => path.join(dir, HOLD_FILE);
const readHold = () => holdFile.parse(readFileSync(holdPath(), 'utf8'));
const keysIn = () => readFileSync(path.join(dir, 'keys.json'), 'utf8');

describe('hold', () => {
  test('pauses the schedule but not the export of keys, until it is resumed', async () => {
    await runKeys(url, ['issue']);
    expect((await snapshot('hold', '--reason', 'the import is being fixed')).code).toBe(0);
    const schedule = startSchedule(url, dir, { GENERATE_CRON: '* * * * * *' });
    await schedule.logged('exported the keys');
    expect(keysIn()).toContain('"approved"');
    await runKeys(url, ['revoke', '1', '--reason', 'x']);
    await schedule.logged('exported the keys', 2);
    expect(keysIn()).toContain('"revoked"');
    // A scheduled time has passed between the two exports. No run was started, and the hold was logged once.
    expect(schedule.log()).not.toContain('"run":');
    expect(schedule.log().split('Publishing is held').length - 1).toBe(1);
    expect(schedule.log()).toContain('the import is being fixed');
    expect(idsOnDisk(dir)).toEqual(ids);

    expect((await snapshot('resume')).code).toBe(0);
    await schedule.logged('publishing was resumed');
    await schedule.logged('"generated"');
    expect(currentId(dir)).not.toBe(newest);
    expect(await schedule.stop()).toBe(0);
  });

  test('makes a run end with 3 and a message about resume, but the run still exports the keys', async () => {
    await runKeys(url, ['issue']);
    await snapshot('hold', '--reason', 'waiting for Ann');
    for (const args of [[], ['--force'], ['--json']]) {
      const { code, stdout, stderr } = await runGenerator(url, dir, args);
      expect([code, stdout], args.join()).toEqual([REFUSED, '']);
      expect(stderr).toContain(`Nothing is published. Publishing is held at ${newest} since `);
      expect(stderr).toContain('(waiting for Ann)');
      expect(stderr).toContain('cover-catalogue snapshot resume');
    }
    expect(keysIn()).toContain('"approved"');
    expect(statusOf(dir)).toMatchObject({
      outcome: 'held',
      current_as_of: expect.stringMatching(SINCE),
      error: expect.stringContaining('waiting for Ann'),
    });
    const dry = await runGenerator(url, dir, ['--dry-run', '--json']);
    expect([dry.code, JSON.parse(dry.stdout).outcome]).toEqual([0, 'dry_run']);
    expect(dry.stderr).toContain('Publishing is held');
    expect(idsOnDisk(dir)).toEqual(ids);
    await snapshot('resume');
    await generate(url, dir);
    expect(currentId(dir)).not.toBe(newest);
  });

  test('keeps a run under way from publishing, also at the last moment', async () => {
    const hold = holdFile.encode({ ...GOOD, id: newest });
    // The last step before a run checks for a hold.
    const { code, stderr } = await disturbed(
      'fsyncSync',
      /generations\/\S+\/games$/,
      () => writeFileSync(holdPath(), hold),
      () => runGenerator(url, dir),
    );
    expect([code, stderr]).toEqual([REFUSED, expect.stringContaining('Publishing is held')]);
    expect(idsOnDisk(dir)).toEqual(ids);
    const error = expect.stringContaining(newest);
    expect(reportOf(dir)).toMatchObject({ outcome: 'held', error });
  });

  test('waits for a run under way, and holds what that published at the last moment', async () => {
    const [stdout, stderr] = [makeLog(), makeLog()];
    const variables = () => ({ SNAPSHOTS_DIR: dir });
    const holding = await withRunLock(dir, async () => {
      const code = runSnapshot({ words: ['hold'], variables, stdout, stderr });
      await stderr.logged('Waiting for the run that is under way to end');
      expect(existsSync(holdPath())).toBe(true);
      // A run that checked for a hold just before would still publish.
      pointCurrentTo(dir, oldest);
      return { code };
    });
    expect([await holding.code, stdout.text()]).toEqual([0, `${oldest} is held.\n`]);
    expect(stderr.text()).toContain('Takedowns wait too.');
    expect(readHold().id).toBe(oldest);
  });

  test('is refused before the first generation, and with a reason that is not one line of text', async () => {
    dir = newSnapshots();
    const early = await snapshot('hold');
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('no generation')]);
    const tooLong = 'x'.repeat(LONGEST_REASON + 1);
    for (const reason of ['', '  ', 'two\nlines', '\u001b[31mred', tooLong]) {
      const { code, stderr } = await snapshot('hold', '--reason', reason);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--reason must be one line')]);
    }
    expect(existsSync(holdPath())).toBe(false);
    const idle = await snapshot('resume');
    expect([idle.code, idle.stderr]).toEqual([0, 'Publishing was not held.\n']);
  });

  test('is shown by list, /readyz and the metrics', async () => {
    const proxy = await startProxy(dir);
    const seen = async () => ({
      lines: (await snapshot('list')).stdout.split('\n').filter((line) => line.endsWith('  held')),
      json: JSON.parse((await snapshot('list', '--json')).stdout).map(
        ({ held }: { held: boolean }) => held,
      ),
      readyz: (await proxy.readyz()).json.held,
      metric: /^snapshot_held (\d)$/m.exec(await proxy.metrics())?.[1],
    });
    const none = ids.map(() => false);
    expect(await seen()).toEqual({ lines: [], json: none, readyz: null, metric: '0' });

    await snapshot('hold', '--reason', 'a reason');
    const { since } = readHold();
    expect(since).toMatch(SINCE);
    expect(await seen()).toEqual({
      lines: [expect.stringContaining(newest)],
      json: none.with(-1, true),
      readyz: { id: newest, since, reason: 'a reason' },
      metric: '1',
    });
    await proxy.stop();
  });
});

describe('a rollback', () => {
  test('holds its generation, which neither a run nor a prune removes', async () => {
    const { code, stdout, stderr } = await rollback(oldest, '--reason', 'bad data');
    const id = currentId(dir);
    expect([code, stdout]).toEqual([0, `${id} is current, with the content of ${oldest}.\n`]);
    expect(stderr).toMatch(
      /^Publishing is held at \S+ since \S+ by a rollback \(bad data\)\. .*resume/m,
    );
    expect((await runGenerator(url, dir)).code).toBe(REFUSED);
    expect([currentId(dir), idsOnDisk(dir)]).toEqual([id, [...ids.slice(1), id]]);
    await snapshot('prune', '--keep', '1');
    expect(idsOnDisk(dir)).toEqual([id]);
  });

  test('to another generation moves the hold; only a new reason replaces the one before', async () => {
    await rollback(ids[2], '--reason', 'bad data');
    const first = { ...readHold(), since: '2026-01-02T03:04:05Z' };
    expect(first).toMatchObject({ id: currentId(dir), by: 'rollback', reason: 'bad data' });
    writeFileSync(holdPath(), holdFile.encode(first));
    await rollback(ids[1]);
    expect(currentId(dir)).not.toBe(first.id);
    expect(readHold()).toEqual({ ...first, id: currentId(dir) });
    await snapshot('hold', '--reason', 'second');
    expect(readHold()).toEqual({ ...first, id: currentId(dir), reason: 'second' });
    expect(statSync(holdPath()).mode & 0o777).toBe(0o600);
  });

  test('with --no-hold lets the next run publish, and is refused while publishing is held', async () => {
    expect((await rollback(oldest, '--no-hold')).code).toBe(0);
    expect(existsSync(holdPath())).toBe(false);
    await generate(url, dir);
    const current = currentId(dir);
    await snapshot('hold');
    const { code, stderr } = await rollback(newest, '--no-hold');
    expect([code, stderr]).toEqual([1, expect.stringContaining('Publishing is held')]);
    expect(currentId(dir)).toBe(current);
  });
});

test('on a full disk, hold and rollback change nothing, and say what is held', async () => {
  /** Lets the function fail for these files. @returns what the command prints */
  async function failing(name: 'writeFileSync' | 'renameSync', files: RegExp, ...args: string[]) {
    const { code, stderr } = await disturbed(name, files, noSpace, () => snapshot(...args));
    expect([code, currentId(dir), idsOnDisk(dir)]).toEqual([1, newest, ids]);
    expect(stderr).toContain('ENOSPC: no space left');
    return stderr;
  }
  const toOldest = ['rollback', oldest, '--with-taken-down'];
  for (const args of [['hold'], toOldest]) {
    expect(await failing('writeFileSync', /hold\.json/, ...args)).toMatch(
      /^The disk of .*snapshots is full: write/m,
    );
  }
  // The last step: the hold is there already.
  expect(await failing('renameSync', /current$/, ...toOldest)).toMatch(/full: point "current"/m);
  expect(existsSync(holdPath())).toBe(false);

  expect((await snapshot('hold', '--reason', 'a test')).code).toBe(0);
  const held = new RegExp(`^Publishing is held at ${newest} since `, 'm');
  expect(await failing('writeFileSync', /hold\.json/, ...toOldest)).toMatch(held);
  expect(readHold()).toMatchObject({ id: newest, reason: 'a test' });
});

describe('a damaged hold file', () => {
  test('cannot be parsed', () => {
    expect(holdFile.parse(JSON.stringify(GOOD)).id).toBe(GOOD.id);
    const wrong = { id: '../../etc', since: 'yesterday', reason: 'a\nb', by: 'someone' };
    for (const [member, value] of Object.entries({ ...wrong, version: 2 })) {
      expect(() => holdFile.parse(JSON.stringify({ ...GOOD, [member]: value }))).toThrow(member);
    }
    expect(() => holdFile.parse('')).toThrow('not JSON');
  });

  test('pauses publishing, and every message says what to do', async () => {
    const proxy = await startProxy(dir);
    const damage: readonly [() => void, RegExp][] = [
      [() => writeFileSync(holdPath(), ''), /hold\.json is damaged: it is not JSON\./],
      [
        () => writeFileSync(holdPath(), JSON.stringify(GOOD).padEnd(LARGEST_JSON_FILE + 1)),
        /hold\.json is larger than 1048576 bytes\./,
      ],
      [() => symlinkSync('absent', holdPath()), /ENOENT.*hold\.json/],
    ];
    for (const [make, fault] of damage) {
      rmSync(holdPath(), { force: true });
      make();
      const run = await runGenerator(url, dir);
      expect(run.code).toBe(REFUSED);
      for (const { stderr } of [run, await snapshot('list')]) {
        expect(stderr).toMatch(fault);
        expect(stderr).toContain('cover-catalogue snapshot resume');
      }
      const { json } = await proxy.readyz();
      const unknown = { id: null, since: null, reason: null };
      expect(json.held).toEqual({ ...unknown, error: expect.any(String) });
      expect(await proxy.metrics()).toMatch(/^snapshot_held 1$/m);
    }
    expect(idsOnDisk(dir)).toEqual(ids);
    await proxy.stop();
  });

  test('is replaced by hold and rollback, and removed by resume', async () => {
    for (const args of [['hold'], ['rollback', oldest, '--with-taken-down'], ['resume']]) {
      writeFileSync(holdPath(), 'x');
      expect((await snapshot(...args)).code).toBe(0);
      if (args[0] === 'resume') expect(existsSync(holdPath())).toBe(false);
      else expect(readHold().id).toBe(currentId(dir));
    }
    expect(ids).not.toContain(currentId(dir));
  });
});
