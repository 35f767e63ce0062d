/**
 * The format on disk held to golden files: what was published once is read rightly for as long as
 * the version stays, an unnoticed change of the bytes fails, and a future version is refused by
 * every reader while what it served before goes on.
 */
import {
  copyFileSync,
  cpSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  symlinkSync,
} from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { isWellFormedKey } from '../../format/api-key.ts';
import { openColumns } from '../../format/index/columns.ts';
import {
  COVER_INDEX,
  CURRENT,
  FORMAT_VERSION,
  GAME_INDEX,
  GENERATIONS,
  KEYS_FILE,
  SEARCH_INDEX,
} from '../../format/layout.ts';
import { currentId, generationDir, idsOnDisk } from '../../store/generations/generations.ts';
import { verifyGeneration } from '../../store/generations/verify.ts';
import {
  FIXTURE_KEY,
  FUTURE_VERSION,
  fixtureCatalogue,
  makeFixture,
  makeFutureFixture,
} from '../catalogue/fixture.ts';
import { makeFolder, ROOT, runProgram, send, startProxy, until } from '../support/product.ts';

const VERSION_1 = path.join(ROOT, 'test/fixtures/version-1');
const FUTURE = path.join(ROOT, 'test/fixtures/future-version');
const REFUSAL = `manifest.json has format version ${FUTURE_VERSION}; this program reads version ${FORMAT_VERSION}.`;
const KEYS_REFUSAL = 'keys.json has version 2; this program reads version 1.';

const headers = { 'x-api-key': FIXTURE_KEY };
const idOf = (dir: string) => currentId(dir) as string;
const read = (dir: string, name: string) => readFileSync(path.join(dir, CURRENT, name));
const snapshot = (dir: string, ...args: string[]) =>
  runProgram('commands/snapshot.ts', args, { SNAPSHOTS_DIR: dir });

function copyOf(fixture: string): string {
  const dir = path.join(makeFolder(), 'snapshots');
  cpSync(fixture, dir, { recursive: true, verbatimSymlinks: true });
  return dir;
}

/** Publishes the future fixture into a folder as a later program would. */
function publishFuture(dir: string): void {
  const future = idOf(FUTURE);
  cpSync(generationDir(FUTURE, future), generationDir(dir, future), { recursive: true });
  const next = path.join(dir, 'next');
  symlinkSync(path.join(GENERATIONS, future), next);
  renameSync(next, path.join(dir, CURRENT));
}

/** Every file and link of a folder by its name, with its content. */
function contentOf(dir: string): Record<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry): [string, string] => {
      const file = path.join(entry.parentPath, entry.name);
      const content = entry.isSymbolicLink()
        ? `-> ${readlinkSync(file)}`
        : readFileSync(file, 'latin1');
      return [path.relative(dir, file), content];
    });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Names first, since a byte that differs says little without its file. */
function expectSame(found: string, golden: string): void {
  const left = contentOf(found);
  const right = contentOf(golden);
  expect(Object.keys(left)).toEqual(Object.keys(right));
  const changed = Object.keys(left).filter((name) => left[name] !== right[name]);
  expect(changed, 'test/fixtures/README.md says what to do').toEqual([]);
}

describe('version 1', () => {
  test('is the version that this code writes', () => {
    expect(FORMAT_VERSION).toBe(1);
    expect(JSON.parse(read(VERSION_1, 'manifest.json').toString()).format_version).toBe(1);
    expect(isWellFormedKey(FIXTURE_KEY)).toBe(true);
  });

  test('is what the same rows give today, byte for byte', async () => {
    const dir = path.join(makeFolder(), 'snapshots');
    await makeFixture(dir);
    expectSame(dir, VERSION_1);
  });

  test('is small', () => {
    for (const fixture of [VERSION_1, FUTURE]) {
      expect(Object.values(contentOf(fixture)).join('').length).toBeLessThan(60_000);
    }
  });

  test('verifies', async () => {
    const { code, stdout, stderr } = await snapshot(VERSION_1, 'verify');
    expect(stderr).toBe('');
    expect([code, stdout]).toEqual([
      0,
      `${idOf(VERSION_1)} is complete and undamaged: 9 games, 6 covers.\n`,
    ]);
  });

  test('is served: each game, each cover, each list and a search', async () => {
    const proxy = await startProxy(copyOf(VERSION_1));
    const get = async (target: string) => {
      const reply = await proxy.get(target, FIXTURE_KEY);
      expect(reply.status, target).toBe(200);
      expect(reply.headers['x-snapshot']).toBe(idOf(VERSION_1));
      return reply.text;
    };
    for (const [target, file] of [
      ['/platforms', 'platforms.json'],
      ['/covers/recent', 'covers-recent.json'],
      ['/stats', 'stats.json'],
    ] as const) {
      expect(await get(target)).toBe(read(VERSION_1, file).toString());
    }
    const linesOf = (pack: string) => {
      const lines = read(VERSION_1, pack).toString().split('\n').slice(1, -2);
      return lines.map((line) => line.replace(/,$/, ''));
    };
    let games = 0;
    for (const [, slug] of fixtureCatalogue().platforms) {
      const lines = linesOf(`games/${slug}.json`);
      const page = JSON.parse(await get(`/platforms/${slug}/games`));
      expect(page.data).toEqual(lines.map((line) => JSON.parse(line)));
      for (const line of lines) {
        expect(await get(`/games/${slug}/${JSON.parse(line).slug}`)).toBe(line);
        games++;
      }
      for (const line of linesOf(`covers/${slug}.json`)) {
        // Not by JSON.parse: an id may be beyond 2^53.
        expect(await get(`/covers/${/^\{"id":(\d+)/.exec(line)?.[1]}`)).toBe(line);
      }
    }
    expect(games).toBe(9);
    const found = async (query: string) =>
      JSON.parse(await get(`/search?${query}`)).data.map(({ slug }: { slug: string }) => slug);
    expect(await found('q=pokemon')).toEqual(['pokemon-1', 'pokemon-2', 'pokemon-10']);
    expect(await found('q=yoshis+isl')).toEqual(['yoshis-island']);
    expect(await found(`q=${encodeURIComponent('鬼太')}`)).toEqual(['gegege']);
    expect(await found('region=USA&sort=year_asc')).toEqual(['f-zero', 'chrono-trigger']);
    expect(await found('genre=rpg&type=back')).toEqual(['chrono-trigger']);
    await proxy.stop();
  });
});

describe('a future version', () => {
  test('is version 1 but for its version, its place in the sequence and its keys file', () => {
    const dir = path.join(makeFolder(), 'future');
    makeFutureFixture(VERSION_1, dir);
    expectSame(dir, FUTURE);
    expect(idOf(FUTURE)).toMatch(/^000002-/);
    for (const pack of ['games/snes.json', 'covers/snes.json', 'search.json']) {
      expect(read(FUTURE, pack)).toEqual(read(VERSION_1, pack));
    }
  });

  test('is refused by verification, naming both versions', async () => {
    await expect(verifyGeneration(generationDir(FUTURE, idOf(FUTURE)))).rejects.toThrow(REFUSAL);
  });

  test.each([GAME_INDEX, COVER_INDEX, SEARCH_INDEX])(
    'is refused where %s is opened, naming both versions',
    (name) => {
      expect(() => openColumns(new Uint8Array(read(FUTURE, name)), name)).toThrow(
        `${name} has format version ${FUTURE_VERSION}; this program reads version ${FORMAT_VERSION}.`,
      );
      expect(Object.keys(openColumns(new Uint8Array(read(VERSION_1, name)), name))).not.toEqual([]);
    },
  );

  test('is refused by each verb of the snapshot command, and the current one stays', async () => {
    const dir = copyOf(VERSION_1);
    const [old, future] = [idOf(VERSION_1), idOf(FUTURE)];
    cpSync(generationDir(FUTURE, future), generationDir(dir, future), { recursive: true });
    for (const args of [
      ['verify', future],
      ['show', '/games/snes/chrono-trigger', future],
      ['diff', old, future],
      ['rollback', future],
    ]) {
      const { code, stdout, stderr } = await snapshot(dir, ...args);
      expect([code, stdout], args[0]).toEqual([1, '']);
      expect(stderr, args[0]).toContain(REFUSAL);
    }
    const { code, stdout } = await snapshot(dir, 'list');
    expect(code).toBe(0);
    const [first, second] = stdout.split('\n');
    expect(first).toMatch(new RegExp(`^\\* ${old} .* 9 games, 6 covers$`));
    expect(second).toContain(`  ${future} `);
    expect(second).toContain(REFUSAL);
  });

  test('is refused by the proxy, which goes on with the old generation and the old keys', async () => {
    const dir = copyOf(VERSION_1);
    const proxy = await startProxy(dir);
    const game = `${proxy.url}/api/v1/games/snes/chrono-trigger`;
    const before = await send(game, { headers });
    expect(before.status).toBe(200);
    publishFuture(dir);
    copyFileSync(path.join(FUTURE, KEYS_FILE), path.join(dir, KEYS_FILE));
    await until(() => proxy.log().includes(REFUSAL) && proxy.log().includes(KEYS_REFUSAL));

    const after = await send(game, { headers });
    expect([after.status, after.text]).toEqual([200, before.text]);
    expect(after.headers['x-snapshot']).toBe(idOf(VERSION_1));
    const ready = await proxy.readyz();
    expect(ready.status).toBe(200);
    expect(ready.json).toMatchObject({
      snapshot: idOf(VERSION_1),
      refused: { id: idOf(FUTURE), error: expect.stringContaining(REFUSAL) },
    });
    const pinned = await send(game, { headers: { ...headers, 'x-snapshot': idOf(FUTURE) } });
    expect([pinned.status, pinned.json]).toEqual([410, { error: 'Snapshot gone' }]);
    await proxy.stop();
  });

  test('leaves a proxy that finds nothing else without an answer, and it says why', async () => {
    const dir = copyOf(FUTURE);
    copyFileSync(path.join(VERSION_1, KEYS_FILE), path.join(dir, KEYS_FILE));
    const proxy = await startProxy(dir);
    const { status, json } = await proxy.get('/stats', FIXTURE_KEY);
    expect([status, json]).toEqual([503, { error: 'No snapshot yet' }]);
    const ready = await proxy.readyz();
    expect(ready.status).toBe(503);
    expect(ready.json.refused.error).toContain(REFUSAL);
    expect(proxy.log()).toContain(REFUSAL);
    await proxy.stop();
  });

  test('is followed by a generation of this version when this generator runs', async () => {
    const dir = copyOf(FUTURE);
    await makeFixture(dir);
    expect(idsOnDisk(dir)).toEqual([idOf(FUTURE), currentId(dir)]);
    expect(idOf(dir)).toBe(idOf(VERSION_1).replace('000001', '000003'));
    expect(contentOf(generationDir(dir, idOf(FUTURE)))).toEqual(
      contentOf(generationDir(FUTURE, idOf(FUTURE))),
    );
    expect((await snapshot(dir, 'verify')).code).toBe(0);
    // The keys are handed over again too.
    expect(readFileSync(path.join(dir, KEYS_FILE), 'utf8')).toContain('"version":1');
  });
});
