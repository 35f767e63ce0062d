/**
 * How many files of the product run for one request, and for one changed row. ARCHITECTURE.md states these numbers,
 * and V8 counts them: a file counts if one of its named functions is called, not if it is only imported.
 */
import { readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { expect, test } from 'vitest';
import { makeTimedSite, run } from '#test/generator/reuse/runs.ts';
import { NEVER, ROOT, startProxy, testKey, writeKeys } from '#test/support/product.ts';

const SENTENCE =
  /functions of (\d+) files run for a game, (\d+) if it is cached, (\d+) for a page, (\d+) for a search, (\d+) for a name, and (\d+) for a changed row\./;
const OF_THE_PRODUCT = /^(?:depot|find|generator|keys|lib|proxy|site)\/.*\.ts$/;

/** Begins to count. @returns a function that returns the files of which a function is called while `work` runs */
async function countFiles(): Promise<(work: () => Promise<unknown>) => Promise<string[]>> {
  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  return async (work) => {
    // What was counted is forgotten when it is taken.
    await session.post('Profiler.takePreciseCoverage');
    await work();
    const { result } = await session.post('Profiler.takePreciseCoverage');
    return result
      .filter(({ functions }) =>
        // Those without a name are the file itself, and what the test runner calls for each import.
        functions.some(({ functionName, ranges }) => functionName !== '' && ranges[0]?.count),
      )
      .map(({ url }) => relative(ROOT, url.replace('file://', '')))
      .filter((file) => OF_THE_PRODUCT.test(file))
      .sort();
  };
}

test('a request and a changed row pass through as many files as ARCHITECTURE.md says', async () => {
  const { database, dir } = await makeTimedSite('sqlite', 6);
  const [[id = null, game = '', title = '', platform = ''] = []] = await database.rows(
    `SELECT c.id, g.slug, title, p.slug FROM covers c JOIN games g ON g.id = game_id
      JOIN platforms p ON p.id = platform_id WHERE status = 'approved' AND title GLOB '[A-Z][a-z]*[a-z]' ORDER BY c.id LIMIT 1`,
  );
  await database.run(
    "UPDATE covers SET type = 'back', updated_at = '2021-01-01 00:00:00' WHERE id = ?",
    [id],
  );
  const filesOf = await countFiles();
  const whileRunning = await filesOf(async () =>
    expect(await run(database, dir)).toMatchObject({ outcome: 'published', readAllBecause: null }),
  );
  // A generator cannot import the proxy, but a connection of an earlier test may end during the run.
  const row = whileRunning.filter((file) => !file.startsWith('proxy/'));

  const key = testKey(1);
  writeKeys(dir, [key]);
  const proxy = await startProxy(dir, {}, NEVER);
  const get = async (target: string) => expect((await proxy.get(target, key.key)).status).toBe(200);
  const filesOfGet = (target: string) => filesOf(() => get(target));
  // The first request on a connection also runs what opens it.
  await get('/stats');
  const path = `/games/${platform}/${game}`;
  const first = await filesOfGet(path);
  // A resource is cached when it is asked for the second time.
  await get(path);
  const cached = await filesOfGet(path);
  const page = await filesOfGet(`/platforms/${platform}/games`);
  const search = await filesOfGet(`/search?q=${title}`);
  const name = await filesOfGet(`/match?platform=${platform}&names=${title}%20(USA).zip`);

  const found = { first, cached, page, search, name, row };
  const [, ...stated] = SENTENCE.exec(readFileSync(`${ROOT}/ARCHITECTURE.md`, 'utf8')) ?? [];
  const counted = Object.values(found).map(({ length }) => String(length));
  expect(stated, JSON.stringify(found, null, 2)).toEqual(counted);
});
