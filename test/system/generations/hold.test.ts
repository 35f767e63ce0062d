/**
 * A hold pauses only publishing. No run publishes, not even one under way, but keys still reach the
 * proxy. The held generation stays on disk, and every command and the proxy report the hold. A rollback
 * holds the generation that it publishes. A hold file that cannot be read pauses publishing and pruning,
 * until an operator replaces or removes it.
 */
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { runSnapshot } from '../../../commands/run-snapshot.ts';
import {
  encodeHold,
  LARGEST_HOLD_FILE,
  LONGEST_REASON,
  parseHold,
} from '../../../format/hold-file.ts';
import { HOLD_FILE } from '../../../format/layout.ts';
import { currentId, idsOnDisk, pointCurrentTo } from '../../../generations/generations.ts';
import { withLock } from '../../../generations/lock.ts';
import { KEPT_GENERATIONS } from '../../../generations/prune.ts';
import { startSchedule } from '../../generator/schedule/start-schedule.ts';
import { makeLog } from '../../support/log.ts';
import {
  generate,
  makeFolder,
  runKeys,
  runSnapshots as snapshot,
  startProxy,
} from '../../support/product.ts';
import {
  makeChanging,
  newSnapshots,
  reportOf,
  runGenerator,
  statusOf,
} from '../../support/wholeness.ts';
import { noSpace, replaceFileFunction } from './disk.ts';

/** The exit code of a run that publishes nothing. */
const REFUSED = 3;
const SINCE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

const GOOD = {
  ...{ version: 1, id: '000001-0123456789ab', since: '2026-01-02T03:04:05Z', reason: null },
  by: 'hold',
} as const;

const holdFile = (dir: string) => path.join(dir, HOLD_FILE);
const readHold = (dir: string) => parseHold(readFileSync(holdFile(dir), 'utf8'));
const currentOf = (dir: string) => currentId(dir) as string;

interface Published {
  readonly dir: string;
  /** The generations in it, the oldest first; the last one is current. */
  readonly ids: readonly [string, ...string[]];
  /** The database, with a change that is not published. */
  readonly url: string;
}

/** Copies the last generations and the database of a template. */
let makePublished: (generations?: number) => Published;

beforeAll(async () => {
  const template = makeFolder();
  const database = await makeChanging();
  const all: string[] = [];
  for (let run = 0; run < KEPT_GENERATIONS; run++) {
    await database.change();
    await generate(database.url, path.join(template, 'snapshots'));
    all.push(currentOf(path.join(template, 'snapshots')));
  }
  await database.change();
  copyFileSync(database.url.replace('sqlite:', ''), path.join(template, 'catalogue.db'));
  makePublished = (generations = 1) => {
    const folder = makeFolder();
    const ids = all.slice(-generations) as [string, ...string[]];
    const isLeftOut = (name: string) => all.includes(name) && !ids.includes(name);
    cpSync(template, folder, {
      recursive: true,
      verbatimSymlinks: true,
      preserveTimestamps: true,
      filter: (file) => !isLeftOut(path.basename(file)),
    });
    const url = `sqlite:${path.join(folder, 'catalogue.db')}`;
    return { dir: path.join(folder, 'snapshots'), ids, url };
  };
});

describe('hold', () => {
  test('pauses the schedule but not the export of keys, until it is resumed', async () => {
    const { dir, url, ids } = makePublished();
    await runKeys(url, ['issue']);
    expect((await snapshot(dir, 'hold', '--reason', 'the import is being fixed')).code).toBe(0);
    const every = { GENERATE_CRON: '* * * * * *', LOG_LEVEL: 'debug' };
    const schedule = startSchedule(url, dir, every);
    const keys = () => readFileSync(path.join(dir, 'keys.json'), 'utf8');
    await schedule.logged('exported the keys');
    expect(keys()).toContain('"approved"');
    await runKeys(url, ['revoke', '1', '--reason', 'x']);
    await schedule.logged('exported the keys', 2);
    expect(keys()).toContain('"revoked"');
    // A scheduled time has passed between the two exports. No run was started, and the hold was logged once.
    expect(schedule.log()).not.toContain('"run":');
    expect(schedule.log().split('Publishing is held').length - 1).toBe(1);
    expect(schedule.log()).toContain('the import is being fixed');
    expect(idsOnDisk(dir)).toEqual(ids);

    expect((await snapshot(dir, 'resume')).code).toBe(0);
    await schedule.logged('publishing was resumed');
    await schedule.logged('"generated"');
    expect(idsOnDisk(dir)).toHaveLength(2);
    expect(await schedule.stop()).toBe(0);
  });

  test('makes a run end with 3 and a message about resume, but the run still exports the keys', async () => {
    const { dir, url, ids } = makePublished();
    await runKeys(url, ['issue']);
    await snapshot(dir, 'hold', '--reason', 'waiting for Ann');
    for (const args of [[], ['--force'], ['--json']]) {
      const { code, stdout, stderr } = await runGenerator(url, dir, args);
      expect([code, stdout], args.join()).toEqual([REFUSED, '']);
      expect(stderr).toContain(`Nothing is published. Publishing is held at ${ids[0]} since `);
      expect(stderr).toContain('(waiting for Ann)');
      expect(stderr).toContain('cover-catalogue snapshot resume');
    }
    expect(readFileSync(path.join(dir, 'keys.json'), 'utf8')).toContain('"approved"');
    expect(statusOf(dir)).toMatchObject({
      outcome: 'held',
      current_as_of: expect.stringMatching(SINCE),
      error: expect.stringContaining('waiting for Ann'),
    });
    const dry = await runGenerator(url, dir, ['--dry-run', '--json']);
    expect([dry.code, JSON.parse(dry.stdout).outcome]).toEqual([0, 'dry_run']);
    expect(dry.stderr).toContain('Publishing is held');
    expect(idsOnDisk(dir)).toEqual(ids);
    await snapshot(dir, 'resume');
    await generate(url, dir);
    expect(idsOnDisk(dir)).toHaveLength(2);
  });

  test('keeps a run under way from publishing, also at the last moment', async () => {
    const { dir, url, ids } = makePublished();
    const hold = { ...GOOD, id: ids[0] };
    // The last step before a run checks for a hold.
    const restore = replaceFileFunction('fsyncSync', (original, file, ...rest) => {
      if (/generations\/\S+\/games$/.test(file)) writeFileSync(holdFile(dir), encodeHold(hold));
      return original(...rest);
    });
    const { code, stderr } = await runGenerator(url, dir).finally(restore);
    expect([code, stderr]).toEqual([REFUSED, expect.stringContaining('Publishing is held')]);
    expect(idsOnDisk(dir)).toEqual(ids);
    const error = expect.stringContaining(ids[0]);
    expect(reportOf(dir)).toMatchObject({ outcome: 'held', error });
  });

  test('waits for a run under way, and holds what that published at the last moment', async () => {
    const { dir, ids } = makePublished(2);
    const [older] = ids;
    const [stdout, stderr] = [makeLog(), makeLog()];
    const variables = () => ({ SNAPSHOTS_DIR: dir });
    const holding = await withLock(dir, async () => {
      const code = runSnapshot({ words: ['hold'], variables, stdout, stderr });
      await stderr.logged('Waiting for the run that is under way to end');
      expect(existsSync(holdFile(dir))).toBe(true);
      // A run that checked for a hold just before would still publish.
      pointCurrentTo(dir, older);
      return { code };
    });
    expect([await holding.code, stdout.text()]).toEqual([0, `${older} is held.\n`]);
    expect(stderr.text()).toContain('Takedowns wait too.');
    expect(readHold(dir).id).toBe(older);
  });

  test('is refused before the first generation, and with a reason that is not one line of text', async () => {
    const dir = newSnapshots();
    const early = await snapshot(dir, 'hold');
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('no generation')]);
    const tooLong = 'x'.repeat(LONGEST_REASON + 1);
    for (const reason of ['', '  ', 'two\nlines', '\u001b[31mred', tooLong]) {
      const { code, stderr } = await snapshot(dir, 'hold', '--reason', reason);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--reason must be one line')]);
    }
    expect(existsSync(holdFile(dir))).toBe(false);
    const idle = await snapshot(dir, 'resume');
    expect([idle.code, idle.stderr]).toEqual([0, 'Publishing was not held.\n']);
  });

  test('is shown by list, /readyz and the metrics', async () => {
    const { dir, ids } = makePublished(2);
    const proxy = await startProxy(dir);
    const seen = async () => ({
      lines: (await snapshot(dir, 'list')).stdout.trimEnd().split('\n'),
      json: JSON.parse((await snapshot(dir, 'list', '--json')).stdout),
      held: (await proxy.readyz()).json.held,
      metric: /^snapshot_held (\d)$/m.exec(await proxy.metrics())?.[1],
    });
    const before = await seen();
    expect(before.lines.join()).not.toContain('held');
    expect(before.json.map(({ held }: { held: unknown }) => held)).toEqual([false, false]);
    expect([before.held, before.metric]).toEqual([null, '0']);

    await snapshot(dir, 'hold', '--reason', 'a reason');
    const { since } = readHold(dir);
    const { lines, json, held, metric } = await seen();
    expect(since).toMatch(SINCE);
    expect(lines.map((line) => line.endsWith('  held'))).toEqual([false, true]);
    expect(json.map((one: { held: unknown }) => one.held)).toEqual([false, true]);
    expect(held).toEqual({ id: ids[1], since, reason: 'a reason' });
    expect(metric).toBe('1');
    await proxy.stop();
  });
});

describe('a rollback', () => {
  test('holds its generation, which neither a run nor a prune removes', async () => {
    const { dir, url, ids } = makePublished(KEPT_GENERATIONS);
    const rollback = ['rollback', ids[0], '--reason', 'bad data'];
    const { code, stdout, stderr } = await snapshot(dir, ...rollback);
    const id = currentOf(dir);
    expect([code, stdout]).toEqual([0, `${id} is current, with the content of ${ids[0]}.\n`]);
    expect(stderr).toMatch(
      /^Publishing is held at \S+ since \S+ by a rollback \(bad data\)\. .*resume/,
    );
    expect((await runGenerator(url, dir)).code).toBe(REFUSED);
    expect([currentOf(dir), idsOnDisk(dir)]).toEqual([id, [...ids.slice(1), id]]);
    await snapshot(dir, 'prune', '--keep', '1');
    expect(idsOnDisk(dir)).toEqual([id]);
  });

  test('to another generation moves the hold; only a new reason replaces the one before', async () => {
    const { dir, ids } = makePublished(3);
    await snapshot(dir, 'rollback', ids[1], '--reason', 'bad data');
    const first = { ...readHold(dir), since: '2026-01-02T03:04:05Z' };
    expect(first).toMatchObject({ id: currentOf(dir), by: 'rollback', reason: 'bad data' });
    writeFileSync(holdFile(dir), encodeHold(first));
    await snapshot(dir, 'rollback', ids[0]);
    expect(currentOf(dir)).not.toBe(first.id);
    expect(readHold(dir)).toEqual({ ...first, id: currentOf(dir) });
    await snapshot(dir, 'hold', '--reason', 'second');
    expect(readHold(dir)).toEqual({ ...first, id: currentOf(dir), reason: 'second' });
    expect(statSync(holdFile(dir)).mode & 0o777).toBe(0o600);
  });

  test('that fails does not change the hold', async () => {
    const { dir, ids } = makePublished(2);
    // The last step fails, because a folder has the name of the link that it moves.
    rmSync(path.join(dir, 'current'));
    mkdirSync(path.join(dir, 'current/x'), { recursive: true });
    const { code, stderr } = await snapshot(dir, 'rollback', ids[0], '--with-taken-down');
    expect([code, stderr]).toEqual([1, expect.stringContaining('point "current"')]);
    expect(stderr).not.toContain('Publishing is held');
    expect(existsSync(holdFile(dir))).toBe(false);
    expect(idsOnDisk(dir)).toEqual(ids);
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
});

test('on a full disk, hold and rollback change nothing, and say what is held', async () => {
  const { dir, ids } = makePublished(2);
  const [older, newer] = ids as [string, string];
  const expectFull = async (held: RegExp, ...args: string[]) => {
    const restore = replaceFileFunction('writeFileSync', (original, file, ...rest) => {
      if (!file.startsWith(dir) || file.endsWith('lock.holder')) return original(...rest);
      throw noSpace();
    });
    const { code, stderr } = await snapshot(dir, ...args).finally(restore);
    expect(code).toBe(1);
    expect(stderr).toMatch(held);
    expect(stderr).toMatch(/write .*ENOSPC: no space left/);
    expect(currentOf(dir)).toBe(newer);
  };
  await expectFull(/^write/, 'hold');
  await expectFull(/^write/, 'rollback', older);
  expect(existsSync(holdFile(dir))).toBe(false);
  expect((await snapshot(dir, 'hold', '--reason', 'a test')).code).toBe(0);
  await expectFull(new RegExp(`^Publishing is held at ${newer} since `), 'rollback', older);
  expect(readHold(dir)).toMatchObject({ id: newer, reason: 'a test' });
});

describe('a damaged hold file', () => {
  test('cannot be parsed', () => {
    expect(parseHold(JSON.stringify(GOOD)).id).toBe(GOOD.id);
    const wrong = { id: '../../etc', since: 'yesterday', reason: 'a\nb', by: 'someone' };
    for (const [member, value] of Object.entries({ ...wrong, version: 2 })) {
      expect(() => parseHold(JSON.stringify({ ...GOOD, [member]: value }))).toThrow(member);
    }
    expect(() => parseHold('')).toThrow('not JSON');
  });

  test('pauses publishing, and every message says what to do', async () => {
    const { dir, url, ids } = makePublished(1);
    const proxy = await startProxy(dir);
    const damage: readonly [() => void, RegExp][] = [
      [() => writeFileSync(holdFile(dir), ''), /hold\.json is damaged: it is not JSON\./],
      [
        () => writeFileSync(holdFile(dir), JSON.stringify(GOOD).padEnd(LARGEST_HOLD_FILE + 1)),
        /hold\.json is larger than 16384 bytes\./,
      ],
      [() => symlinkSync('absent', holdFile(dir)), /ENOENT.*hold\.json/],
    ];
    for (const [make, fault] of damage) {
      rmSync(holdFile(dir), { force: true });
      make();
      const run = await runGenerator(url, dir);
      expect(run.code).toBe(REFUSED);
      for (const { stderr } of [run, await snapshot(dir, 'list')]) {
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
    const { dir, ids } = makePublished(2);
    for (const args of [['hold'], ['rollback', ids[0]], ['resume']]) {
      writeFileSync(holdFile(dir), 'x');
      expect((await snapshot(dir, ...args)).code).toBe(0);
      if (args[0] === 'resume') expect(existsSync(holdFile(dir))).toBe(false);
      else expect(readHold(dir).id).toBe(currentOf(dir));
    }
    expect(ids).not.toContain(currentOf(dir));
  });
});
