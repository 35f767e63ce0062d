/**
 * Publishing under disturbances: two runs at once, a killed run, a signal, a full disk, a database
 * that dies or stops answering. `current` always points to a generation that verifies.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { sequenceOf } from '../../format/layout.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  pointCurrentTo,
} from '../../store/generations/generations.ts';
import { verifyGeneration } from '../../store/generations/verify.ts';
import { LockedError, withLock } from '../../store/lock.ts';
import { KEPT_GENERATIONS, prune } from '../../store/prune.ts';
import { rollbackTo } from '../../store/rollback.ts';
import { loadCatalogue } from '../catalogue/load.ts';
import { seededCatalogue } from '../catalogue/seeded.ts';
import { makeSampleSnapshots, makeSampleSqlite, makeSqlite } from '../catalogue/snapshots.ts';
import { end, finish, generate, ROOT } from '../support/product.ts';
import { type MariaDb, startMariaDb } from '../support/servers/mariadb.ts';
import {
  expectCurrentVerifies,
  expectNoDebris,
  makeChanging,
  makePublished,
  newSnapshots,
  SETTINGS,
  startGenerator as start,
  statusOf,
} from '../support/wholeness.ts';

/** How a rollback is done here. */
const HOW = { withTakenDown: false, warn() {} };

/** The DATABASE_URL of a catalogue whose runs take a few seconds. */
let large: string;

beforeAll(async () => {
  large = await makeSqlite(seededCatalogue({ games: 20_000, seed: 3 }));
});

test('a run that cannot export the keys reports it, and that its generation is current', async () => {
  const { database, snapshotsDir: dir } = await makePublished();
  await database.change();
  const before = currentId(dir);
  rmSync(path.join(dir, 'keys.json'), { force: true });
  // The folder is not empty, because an empty one would be replaced.
  mkdirSync(path.join(dir, 'keys.json', 'not-empty'), { recursive: true });
  const started = Math.floor(Date.now() / 1000) * 1000;
  const { code, stderr } = await finish(start(database.url, dir));
  expect(code).toBe(1);
  const id = currentId(dir);
  expect(id).not.toBe(before);
  expect(stderr).toContain(`export the keys (${id} is current): `);
  const status = statusOf(dir);
  expect(status).toMatchObject({ outcome: 'failed', error: expect.stringContaining(`${id}`) });
  expect(Date.parse(status.current_as_of ?? '')).toBeGreaterThanOrEqual(started);
});

describe('only one program writes at a time', () => {
  test('of two generators at once one publishes and the other exits with 4', async () => {
    const dir = newSnapshots();
    const both = [start(large, dir), start(large, dir)];
    const ended = await Promise.all(both.map(finish));
    expect(ended.map(({ code }) => code).toSorted()).toEqual([0, 4]);
    const loser = ended.findIndex(({ code }) => code === 4);
    expect(ended[loser]?.stderr).toContain(String(both[1 - loser]?.pid));
    expect(ended[loser]?.stdout).toBe('');
    expect(idsOnDisk(dir)).toHaveLength(1);
    expect(statusOf(dir).outcome).toBe('published');
    await expectCurrentVerifies(dir);
  });

  test('a rollback and a prune are refused while another program writes', async () => {
    const { database, snapshotsDir: dir } = await makePublished();
    const id = currentId(dir) as string;
    await withLock(dir, async () => {
      await expect(rollbackTo(dir, id, HOW)).rejects.toThrow(LockedError);
      await expect(prune(dir, 1)).rejects.toThrow(String(process.pid));
      expect((await finish(start(database.url, dir))).code).toBe(4);
    });
    expect((await finish(start(database.url, dir))).code).toBe(0);
  });

  test('the error names the process that has just taken the lock and not yet written its id', async () => {
    const dir = newSnapshots();
    await withLock(dir, async () => {
      const holderFile = path.join(dir, 'lock.holder');
      writeFileSync(holderFile, '');
      const refused = withLock(dir, async () => {});
      setTimeout(() => writeFileSync(holderFile, '4321\n'), 60);
      await expect(refused).rejects.toThrow('Another run (process 4321) is writing');
    });
  });

  test('an error names a lock that cannot be opened', async () => {
    const dir = newSnapshots();
    const database = await makeChanging();
    mkdirSync(path.join(dir, 'lock'), { recursive: true });
    const { code, stderr } = await finish(start(database.url, dir));
    expect([code, stderr]).toEqual([1, expect.stringContaining(`lock ${dir}/lock: `)]);
  });

  test('the lock of a killed program is released', async () => {
    const dir = newSnapshots();
    const holder = start(large, dir);
    const ended = finish(holder);
    await new Promise((resolve) => holder.stderr?.once('data', resolve));
    await end(holder, 'SIGKILL');
    await ended;
    const small = await makeSampleSqlite();
    expect((await finish(start(small, dir))).code).toBe(0);
    expectNoDebris(dir);
  });
});

describe('a run that is interrupted', () => {
  let onePlatform: string;

  beforeAll(async () => {
    onePlatform = await makeSqlite(seededCatalogue({ games: 6_000, seed: 4, platforms: 1 }));
  });

  test.each(['SIGTERM', 'SIGINT'] as const)('by %s leaves no files behind', async (signal) => {
    const dir = newSnapshots();
    const child = start(large, dir);
    const ended = finish(child);
    await new Promise((resolve) => child.stderr?.once('data', resolve));
    child.kill(signal);
    const { code, stdout } = await ended;
    expect(code).toBe(signal === 'SIGTERM' ? 143 : 130);
    expect(stdout).toBe('');
    expect(currentId(dir)).toBe(undefined);
    expectNoDebris(dir);
  });

  // Writing beyond this size fails as on a full disk: first in a spill file, then in a pack.
  test.each([64, 1024])(
    'by a limit of %i KiB on files exits with 1 and one clear line, and the old generation stays',
    async (limit) => {
      const dir = await makeSampleSnapshots();
      const before = currentId(dir);
      const child = spawn(
        'bash',
        [
          '-c',
          `ulimit -f ${limit}; exec "$0" "$@"`,
          process.execPath,
          path.join(ROOT, 'generator/cli/main.ts'),
        ],
        {
          env: {
            ...process.env,
            ...SETTINGS,
            DATABASE_URL: onePlatform,
            SNAPSHOTS_DIR: dir,
          },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      const { code, stdout, stderr } = await finish(child);
      expect([code, stdout]).toEqual([1, '']);
      const lastLine = stderr.trimEnd().split('\n').at(-1);
      expect(lastLine).toMatch(/EFBIG/);
      expect(lastLine, 'names the step and the file').toMatch(
        /write \S*(?:game-heads|cover-files|\.json|\.bin)/,
      );
      expect(currentId(dir)).toBe(before);
      expectNoDebris(dir);
      await expectCurrentVerifies(dir);
      expect(statusOf(dir)).toMatchObject({ outcome: 'failed', current_as_of: expect.any(String) });
    },
  );
});

describe('a run with a database server', () => {
  let server: MariaDb;
  let url: string;
  let dir: string;
  let before: string;

  beforeAll(async () => {
    server = await startMariaDb();
    url = await server.createDatabase('catalogue');
    const database = await openDatabase(url);
    await loadCatalogue(database, seededCatalogue({ games: 30_000, seed: 5 }));
    dir = newSnapshots();
    await generate(url, dir);
    before = currentId(dir) as string;
    await database.run("UPDATE games SET description = 'Changed' WHERE id > 0");
    await database.close();
  });
  afterAll(async () => {
    await server.stop();
  });

  /** Starts a run and waits until its output contains a text. */
  async function startUntil(line: string, databaseUrl = url) {
    const child = start(databaseUrl, dir);
    const ended = finish(child);
    await new Promise<void>((resolve) => {
      child.once('exit', resolve);
      child.stderr?.on('data', (text) => String(text).includes(line) && resolve());
    });
    return { child, ended };
  }

  async function expectFailed(ended: ReturnType<typeof finish>): Promise<string> {
    const { code, stdout, stderr } = await ended;
    expect([code, stdout]).toEqual([1, '']);
    expect(currentId(dir)).toBe(before);
    expectNoDebris(dir);
    await expectCurrentVerifies(dir);
    expect(statusOf(dir).outcome).toBe('failed');
    return stderr.trimEnd().split('\n').at(-1) ?? '';
  }

  test('that dies during the read exits with 1 and one clear line, and the old generation stays', async () => {
    const { ended } = await startUntil('reading platforms');
    await server.kill();
    expect(await expectFailed(ended)).toMatch(/127\.0\.0\.1/);
    await server.restart();
  });

  test('that is down exits with 1 and one clear line', async () => {
    await server.kill();
    expect(await expectFailed(finish(start(url, dir)))).toMatch(/No database server listens/);
    await server.restart();
  });

  test('that stops answering during the read fails after the timeout', async () => {
    const { ended } = await startUntil('reading platforms', `${url}?timeout=2`);
    server.freeze();
    try {
      expect(await expectFailed(ended)).toMatch(/nothing for 2 s/);
    } finally {
      server.thaw();
    }
  });

  test('that kills its query fails, because rows are missing', async () => {
    const { child, ended } = await startUntil('reading platforms');
    const other = await openDatabase(url);
    let killed = 0;
    // Again and again, because a query may have ended before it is killed.
    while (child.exitCode === null) {
      const queries = await other.rows(
        "SELECT id FROM information_schema.processlist WHERE info LIKE 'SELECT id,%' AND id <> CONNECTION_ID()",
      );
      for (const [id] of queries) {
        await other.run(`KILL QUERY ${id}`);
        killed++;
      }
    }
    await other.close();
    expect(killed).toBeGreaterThan(0);
    await expectFailed(ended);
  });

  test('that works again publishes', async () => {
    await generate(url, dir);
    expect(currentId(dir)).not.toBe(before);
    expectNoDebris(dir);
  });
});

describe('kept generations', () => {
  test('share exactly the files that did not change', async () => {
    const { database, snapshotsDir: dir } = await makePublished();
    const first = currentId(dir) as string;
    await database.change();
    await generate(database.url, dir);
    const second = currentId(dir) as string;
    const inode = (id: string, name: string) =>
      statSync(path.join(generationDir(dir, id), name)).ino;
    const names = readdirSync(generationDir(dir, first), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) =>
        path.relative(generationDir(dir, first), path.join(entry.parentPath, entry.name)),
      );
    const content = (id: string, name: string) =>
      readFileSync(path.join(generationDir(dir, id), name), 'latin1');
    const shared = names.filter((name) => inode(first, name) === inode(second, name));
    const same = names.filter((name) => content(first, name) === content(second, name));
    expect(shared.toSorted()).toEqual(same.toSorted());
    expect(shared.length).toBeGreaterThan(names.length / 2);
    expect(shared).not.toContain('manifest.json');
  });

  test('are the last five up to the current one', async () => {
    const dir = newSnapshots();
    const database = await makeChanging();
    const ids: string[] = [];
    for (let run = 0; run < KEPT_GENERATIONS + 2; run++) {
      await database.change();
      await generate(database.url, dir);
      ids.push(currentId(dir) as string);
    }
    expect(idsOnDisk(dir)).toEqual(ids.slice(-KEPT_GENERATIONS));
    const oldest = ids.at(-KEPT_GENERATIONS) as string;
    const { id } = await rollbackTo(dir, oldest, HOW);
    // The oldest is gone, but its content is current.
    expect(idsOnDisk(dir)).toEqual([...ids.slice(1 - KEPT_GENERATIONS), id]);
    expect(await prune(dir, 2)).toEqual(ids.slice(1 - KEPT_GENERATIONS, -1));
    expect(idsOnDisk(dir)).toEqual([ids.at(-1), id]);
    await database.change();
    await generate(database.url, dir);
    expect(sequenceOf(currentId(dir) as string)).toBe(KEPT_GENERATIONS + 4);
    // Whatever is newer than the current generation never became current, or was given up.
    pointCurrentTo(dir, id);
    await prune(dir, 1);
    expect(idsOnDisk(dir)).toEqual([id]);
    expectNoDebris(dir);
  });

  test('cannot be rolled back to if they are damaged', async () => {
    const { database, snapshotsDir: dir } = await makePublished();
    const first = currentId(dir) as string;
    await database.change();
    await generate(database.url, dir);
    const second = currentId(dir);
    writeFileSync(path.join(generationDir(dir, first), 'extra.json'), '{}');
    await expect(rollbackTo(dir, first, HOW)).rejects.toThrow('extra.json');
    await expect(rollbackTo(dir, '../../etc', HOW)).rejects.toThrow('There is no generation');
    await expect(rollbackTo(dir, '000099-000000000000', HOW)).rejects.toThrow('There are:');
    expect(currentId(dir)).toBe(second);
  });
});

describe('verification detects', () => {
  /** Each changes at least one byte of a generation. */
  const damages: [string, (file: (name: string) => string) => void][] = [
    ['games/snes.json', (file) => flip(file('games/snes.json'), 500)],
    ['covers/snes.json', (file) => flip(file('covers/snes.json'), 500)],
    ['platforms.json', (file) => flip(file('platforms.json'), 20)],
    ['index/games.bin', (file) => flip(file('index/games.bin'), 500)],
    ['index/covers.bin', (file) => flip(file('index/covers.bin'), 2_000)],
    ['index/words.bin', (file) => flip(file('index/words.bin'), 4_000)],
    ['search.json', (file) => flip(file('search.json'), 100)],
    ['stats.json', (file) => writeFileSync(file('stats.json'), '{}')],
    ['manifest.json', (file) => flip(file('manifest.json'), 30)],
    ['games/extra.json', (file) => writeFileSync(file('games/extra.json'), '[]\n')],
  ];

  test.each(damages)('a damaged or additional %s', async (name, damage) => {
    const dir = await makeSampleSnapshots();
    const generation = generationDir(dir, currentId(dir) as string);
    await verifyGeneration(generation);
    damage((file) => path.join(generation, file));
    await expect(verifyGeneration(generation)).rejects.toThrow(name);
  });
});

function flip(file: string, at: number): void {
  const bytes = readFileSync(file);
  bytes[at] = bytes[at] ^ 1;
  writeFileSync(file, bytes);
}
