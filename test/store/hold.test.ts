/**
 * A hold pauses only publishing. No run publishes, not even one under way, but keys still reach the
 * proxy. The held generation stays on disk, and every command and the proxy report the hold.
 */
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { hashKey, makeKey } from '../../format/api-key.ts';
import { encodeHold, LONGEST_REASON } from '../../format/hold-file.ts';
import { encodeKeyUsage } from '../../format/key-usage.ts';
import { keyUsageFile, PROXY_FOLDER, REPORT } from '../../format/layout.ts';
import { createKeysTables } from '../../keys/tables/schema.ts';
import { idsOnDisk, pointCurrentTo } from '../../store/generations/generations.ts';
import { withLock } from '../../store/lock.ts';
import { end, finish, generate, startProgram, startProxy, until } from '../support/product.ts';
import { newSnapshots, startGenerator, statusOf } from '../support/wholeness.ts';
import { holdFile, makePublisher, REFUSED, readHold, SINCE, snapshot } from './hold-snapshots.ts';

let makePublished: Awaited<ReturnType<typeof makePublisher>>;
beforeAll(async () => {
  makePublished = await makePublisher();
});

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
  test('pauses the schedule but not the export of keys, until it is resumed', async () => {
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
      encodeKeyUsage({ days: new Map([[1, '2026-01-03']]), counts: [] }),
    );
    await until(async () => (await lastUse(url)) === '2026-01-03');
    // Several scheduled times have passed: none started a run, and the hold was logged once.
    expect(log).not.toContain('"run":');
    expect(log.split('Publishing is held').length - 1).toBe(1);
    expect(log).toContain('the import is being fixed');
    expect(idsOnDisk(dir)).toEqual(ids);

    expect((await snapshot(dir, 'resume')).code).toBe(0);
    await until(() => idsOnDisk(dir).length === 2);
    expect(log).toContain('publishing was resumed');
    expect(await end(schedule, 'SIGTERM')).toBe(0);
  });

  test('makes a run end with 3 and a message about resume, but the run still exports the keys', async () => {
    const { dir, url, ids } = makePublished();
    await issueKey(url);
    await snapshot(dir, 'hold', '--reason', 'waiting for Ann');
    for (const args of [[], ['--force'], ['--json']]) {
      const { code, stdout, stderr } = await finish(startGenerator(url, dir, args));
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
    const dry = await finish(startGenerator(url, dir, ['--dry-run', '--json']));
    expect([dry.code, JSON.parse(dry.stdout).outcome]).toEqual([0, 'dry_run']);
    expect(dry.stderr).toContain('Publishing is held');
    expect(idsOnDisk(dir)).toEqual(ids);
    await snapshot(dir, 'resume');
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
    expect(held.stderr).toContain('Takedowns wait too.');
    expect(held.stderr).toContain('Waiting for the run that is under way to end');
    const { code, stderr } = await run;
    expect([code, stderr]).toEqual([REFUSED, expect.stringContaining('Publishing is held')]);
    expect(idsOnDisk(dir)).toEqual(ids);
    const report = JSON.parse(readFileSync(path.join(dir, REPORT), 'utf8'));
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
