/**
 * A hold pauses only publishing. No run publishes, not even one under way, but keys still reach the
 * proxy. The held generation stays on disk, and every command and the proxy report the hold.
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
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { hashKey, makeKey } from '../../format/api-key.ts';
import {
  encodeHold,
  LARGEST_HOLD_FILE,
  LONGEST_REASON,
  parseHold,
} from '../../format/hold-file.ts';
import { encodeKeyUsage } from '../../format/key-usage.ts';
import {
  COVER_INDEX,
  HOLD_FILE,
  keyUsageFile,
  PROXY_FOLDER,
  RUN_REPORT,
} from '../../format/layout.ts';
import { createKeysTables } from '../../keys/tables/schema.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  pointCurrentTo,
} from '../../store/generations/generations.ts';
import { withLock } from '../../store/lock.ts';
import { KEPT_GENERATIONS } from '../../store/prune.ts';
import {
  end,
  finish,
  generate,
  makeFolder,
  runProgram,
  startProgram,
  startProxy,
  until,
} from '../support/product.ts';
import { freeKilobytes, mountSmallDisk } from '../support/small-disk.ts';
import { makeChanging, newSnapshots, startGenerator, statusOf } from '../support/wholeness.ts';

const REFUSED = 3;
const LOCKED = 4;
const SINCE = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/;

const snapshot = (dir: string, ...args: string[]) =>
  runProgram('commands/snapshot.ts', args, { SNAPSHOTS_DIR: dir });
const holdFile = (dir: string) => path.join(dir, HOLD_FILE);
const readHold = (dir: string) => parseHold(readFileSync(holdFile(dir), 'utf8'));
const currentOf = (dir: string) => currentId(dir) as string;

let template: { folder: string; ids: string[] };

// Each test gets a copy, because generating for each would take minutes.
beforeAll(async () => {
  const folder = makeFolder();
  const database = await makeChanging();
  const ids: string[] = [];
  for (let run = 0; run < KEPT_GENERATIONS; run++) {
    await database.change();
    await generate(database.url, path.join(folder, 'snapshots'));
    ids.push(currentOf(path.join(folder, 'snapshots')));
  }
  await database.change();
  copyFileSync(database.url.replace('sqlite:', ''), path.join(folder, 'catalogue.db'));
  template = { folder, ids };
});

/** Copies a snapshots folder with some generations, and a database with an unpublished change. */
function makePublished(generations = 1) {
  const folder = makeFolder();
  cpSync(template.folder, folder, {
    recursive: true,
    verbatimSymlinks: true,
    preserveTimestamps: true,
  });
  const dir = path.join(folder, 'snapshots');
  const ids = template.ids.slice(-generations);
  for (const id of idsOnDisk(dir)) {
    if (!ids.includes(id)) rmSync(generationDir(dir, id), { recursive: true });
  }
  return { dir, ids, url: `sqlite:${path.join(folder, 'catalogue.db')}` };
}

async function issueKey(url: string): Promise<string> {
  const key = makeKey();
  const database = await openDatabase(url);
  await createKeysTables(database);
  await database.run(
    "INSERT INTO api_keys (purpose, website_url, state, limit_per_minute, key_hash, requested_at) VALUES ('a test', '', 'approved', 60, ?, '2026-01-01 00:00:00')",
    [hashKey(key)],
  );
  await database.close();
  return key;
}

async function lastUse(url: string): Promise<unknown> {
  const database = await openDatabase(url);
  const [[day] = []] = await database.rows('SELECT last_used_on FROM api_keys');
  await database.close();
  return day;
}

async function revokeKeys(url: string): Promise<void> {
  const database = await openDatabase(url);
  await database.run("UPDATE api_keys SET state = 'revoked'");
  await database.close();
}

describe('hold', () => {
  test('pauses the schedule but not the export of keys, until a release', async () => {
    const { dir, url, ids } = makePublished();
    await issueKey(url);
    expect((await snapshot(dir, 'hold', '--reason', 'the import is being fixed')).code).toBe(0);
    const schedule = startProgram('generator/cli/schedule.ts', [], {
      DATABASE_URL: url,
      SNAPSHOTS_DIR: dir,
      GENERATE_CRON: '* * * * * *',
      LOG_LEVEL: 'debug',
    });
    let log = '';
    schedule.stdout?.resume();
    schedule.stderr?.setEncoding('utf8').on('data', (text) => {
      log += text;
    });
    const keys = () => readFileSync(path.join(dir, 'keys.json'), 'utf8');
    await until(() => keys().includes('"approved"'));
    await revokeKeys(url);
    await until(() => keys().includes('"revoked"'));
    mkdirSync(path.join(dir, PROXY_FOLDER), { recursive: true });
    writeFileSync(
      path.join(dir, PROXY_FOLDER, keyUsageFile(8080)),
      encodeKeyUsage(new Map([[1, '2026-01-03']])),
    );
    await until(async () => (await lastUse(url)) === '2026-01-03');
    // Several scheduled times have passed: none started a run, and the hold was logged once.
    expect(log).not.toContain('"run":');
    expect(log.split('Publishing is held').length - 1).toBe(1);
    expect(log).toContain('the import is being fixed');
    expect(idsOnDisk(dir)).toEqual(ids);

    expect((await snapshot(dir, 'release')).code).toBe(0);
    await until(() => idsOnDisk(dir).length === 2);
    expect(log).toContain('publishing was released');
    expect(await end(schedule, 'SIGTERM')).toBe(0);
  });

  test('makes a run end with 3 and a message about release, but the run still exports the keys', async () => {
    const { dir, url, ids } = makePublished();
    await issueKey(url);
    await snapshot(dir, 'hold', '--reason', 'waiting for Ann');
    for (const args of [[], ['--force'], ['--json']]) {
      const { code, stdout, stderr } = await finish(startGenerator(url, dir, args));
      expect([code, stdout], args.join()).toEqual([REFUSED, '']);
      expect(stderr).toContain(`Nothing is published. Publishing is held at ${ids[0]} since `);
      expect(stderr).toContain('(waiting for Ann)');
      expect(stderr).toContain('cover-catalogue snapshot release');
    }
    expect(readFileSync(path.join(dir, 'keys.json'), 'utf8')).toContain('"approved"');
    expect(statusOf(dir)).toMatchObject({
      outcome: 'held',
      current_as_of: expect.stringMatching(SINCE),
      error: expect.stringContaining('waiting for Ann'),
    });
    const dry = await finish(startGenerator(url, dir, ['--dry-run', '--json']));
    expect([dry.code, JSON.parse(dry.stdout).outcome]).toEqual([0, 'dry_run']);
    expect(dry.stderr).toContain('Publishing is held');
    expect(idsOnDisk(dir)).toEqual(ids);
    await snapshot(dir, 'release');
    await generate(url, dir);
    expect(idsOnDisk(dir)).toHaveLength(2);
  });

  test('waits for a run under way, which publishes nothing', async () => {
    const { dir, url, ids } = makePublished();
    const child = startGenerator(url, dir);
    const run = finish(child);
    let log = '';
    child.stderr?.on('data', (text) => {
      log += text;
    });
    await until(() => log.includes('reading'));
    // The run continues only after the hold file exists, so it must find it.
    child.kill('SIGSTOP');
    const holding = snapshot(dir, 'hold');
    await until(() => existsSync(holdFile(dir)));
    child.kill('SIGCONT');
    const held = await holding;
    expect([held.code, held.stdout]).toEqual([0, `${ids[0]} is held.\n`]);
    expect(held.stderr).toContain('Waiting for the run that is under way to end');
    const { code, stderr } = await run;
    expect([code, stderr]).toEqual([REFUSED, expect.stringContaining('Publishing is held')]);
    expect(idsOnDisk(dir)).toEqual(ids);
    const report = JSON.parse(readFileSync(path.join(dir, RUN_REPORT), 'utf8'));
    expect(report).toMatchObject({ outcome: 'held', error: expect.stringContaining(ids[0] ?? '') });
  });

  test.each([
    ['with an id', true],
    ['without an id', false],
  ])('%s holds the generation that a run published at the last moment', async (_, byId) => {
    const { dir, ids } = makePublished(2);
    const [older, newer] = ids as [string, string];
    const child = await withLock(dir, async () => {
      const args = byId ? ['hold', newer] : ['hold'];
      const waiting = startProgram('commands/snapshot.ts', args, { SNAPSHOTS_DIR: dir });
      await until(() => existsSync(holdFile(dir)));
      // A run that checked for a hold just before would still publish.
      pointCurrentTo(dir, older);
      return { waiting };
    });
    const { code, stdout, stderr } = await finish(child.waiting);
    expect(readHold(dir).id).toBe(older);
    if (byId) {
      expect([code, stdout]).toEqual([1, '']);
      expect(stderr).toContain(`Publishing is held at ${older}.`);
      expect(stderr).toContain(`rollback ${newer}`);
    } else expect([code, stdout]).toEqual([0, `${older} is held.\n`]);
  });

  test('keeps its time and reason if it is repeated, unless there is a new reason', async () => {
    const { dir, ids } = makePublished();
    await snapshot(dir, 'hold', ids[0], '--reason', 'first');
    const earlier = { ...readHold(dir), since: '2026-01-02T03:04:05Z' };
    writeFileSync(holdFile(dir), encodeHold(earlier));
    expect((await snapshot(dir, 'hold')).code).toBe(0);
    expect(readHold(dir)).toEqual(earlier);
    expect((await snapshot(dir, 'hold', '--reason', 'second')).code).toBe(0);
    expect(readHold(dir)).toEqual({ ...earlier, reason: 'second' });
    expect(statSync(holdFile(dir)).mode & 0o777).toBe(0o600);
  });

  test('refuses any generation except the current one, and suggests a rollback', async () => {
    const { dir, ids } = makePublished(2);
    const { code, stdout, stderr } = await snapshot(dir, 'hold', ids[0]);
    expect([code, stdout]).toEqual([1, '']);
    expect(stderr).toContain(`cover-catalogue snapshot rollback ${ids[0]}`);
    expect(existsSync(holdFile(dir))).toBe(false);
  });

  test('is refused before the first generation, and with a reason that is not one line of text', async () => {
    const dir = newSnapshots();
    const early = await snapshot(dir, 'hold');
    expect([early.code, early.stderr]).toEqual([1, expect.stringContaining('no generation')]);
    for (const reason of [
      '',
      '  ',
      'two\nlines',
      '\u001b[31mred',
      'x'.repeat(LONGEST_REASON + 1),
    ]) {
      const { code, stderr } = await snapshot(dir, 'hold', '--reason', reason);
      expect([code, stderr]).toEqual([2, expect.stringContaining('--reason must be one line')]);
    }
    expect(existsSync(holdFile(dir))).toBe(false);
    const idle = await snapshot(dir, 'release');
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
    expect(before.json.map(({ held }: { held: unknown }) => held)).toEqual([null, null]);
    expect([before.held, before.metric]).toEqual([null, '0']);

    await snapshot(dir, 'hold', '--reason', 'a reason');
    const { since } = readHold(dir);
    const { lines, json, held, metric } = await seen();
    expect(since).toMatch(SINCE);
    expect(lines.map((line) => line.endsWith('  held'))).toEqual([false, true]);
    expect(json.map((one: { held: unknown }) => one.held)).toEqual([
      null,
      { since, reason: 'a reason', by: 'hold' },
    ]);
    expect(held).toEqual({ id: ids[1], since, reason: 'a reason' });
    expect(metric).toBe('1');
    await proxy.stop();
  });
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
    expect([code, stdout]).toEqual([0, `${oldest} is current.\n`]);
    expect(stderr).toMatch(
      /^Publishing is held at \S+ since \S+ by a rollback \(bad data\)\. .*release/,
    );
    expect((await finish(startGenerator(url, dir))).code).toBe(REFUSED);
    expect([currentOf(dir), idsOnDisk(dir)]).toEqual([oldest, ids]);
    await snapshot(dir, 'prune', '--keep', '1');
    expect(idsOnDisk(dir)).toEqual([oldest, ids.at(-1)]);
  });

  test('is kept by the next run after a release, which publishes', async () => {
    const { dir, url, ids } = makePublished(KEPT_GENERATIONS);
    const [oldest] = ids as [string];
    await snapshot(dir, 'rollback', oldest);
    await snapshot(dir, 'release');
    await generate(url, dir);
    const next = currentOf(dir);
    expect(idsOnDisk(dir)).toEqual([...ids, next]);
    // If the new generation is bad too, the operator can roll back again.
    expect((await snapshot(dir, 'rollback', oldest)).code).toBe(0);
    expect(currentOf(dir)).toBe(oldest);
  });

  test('to another generation moves the hold and keeps its time and reason', async () => {
    const { dir, ids } = makePublished(3);
    await snapshot(dir, 'rollback', ids[1], '--reason', 'bad data');
    const first = readHold(dir);
    expect(first).toMatchObject({ id: ids[1], by: 'rollback', reason: 'bad data' });
    await snapshot(dir, 'rollback', ids[0]);
    expect(readHold(dir)).toEqual({ ...first, id: ids[0] });
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
    const { code, stderr } = await snapshot(blocked.dir, 'rollback', older);
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
      expect(stderr).toMatch(/^write hold\.json: ENOSPC: /);
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
    expect([currentOf(dir), readHold(dir).id]).toEqual([older, older]);
  } finally {
    await disk.unmount();
  }
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
    expect(stderr).toContain('cover-catalogue snapshot release');
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
        expect(stderr).toContain('cover-catalogue snapshot release');
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

  test('is replaced by hold and rollback, and removed by release', async () => {
    const { dir, ids } = makePublished(2);
    writeFileSync(holdFile(dir), 'x');
    await snapshot(dir, 'hold');
    expect(readHold(dir).id).toBe(ids[1]);
    writeFileSync(holdFile(dir), 'x');
    await snapshot(dir, 'rollback', ids[0]);
    expect(readHold(dir).id).toBe(ids[0]);
    writeFileSync(holdFile(dir), 'x');
    expect((await snapshot(dir, 'release')).code).toBe(0);
    mkdirSync(holdFile(dir));
    expect((await snapshot(dir, 'release')).code).toBe(0);
    expect(existsSync(holdFile(dir))).toBe(false);
  });
});
