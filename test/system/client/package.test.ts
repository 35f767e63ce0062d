/**
 * The package of the client, as `npm pack` makes it, installed in an empty folder: plain JavaScript,
 * strict TypeScript, a web page, and the recipes of its README.
 */
import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createClient, type Game } from '#client/index.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { type Chromium, makeVisits, startChromium, type Visits } from '#test/support/browser.ts';
import { change } from '#test/support/databases.ts';
import { generate, NEVER, ROOT, startProxy, testKey, writeKeys } from '#test/support/product.ts';
import {
  CLIENT_FOLDER,
  compile,
  findNodes,
  installClient,
  packClient,
  runScript,
} from './installed-client.ts';
import { type Site, startSite } from './site.ts';

const LARGEST_BUNDLE = 6 * 1024;
/** The address of the API in the README. */
const EXAMPLE_URL = 'https://covers.example/api/v1';
const key = testKey(1);

const databaseUrl = await makeSampleSqlite();
const snapshotsDir = await makeSampleSnapshots([key]);
const proxy = await startProxy(snapshotsDir, {}, NEVER);
const packed = await packClient();
const files = packed.files;
/** Where the package is installed. */
const folder = await installClient(packed.file);

/** Writes a file next to the package. @returns its path */
function write(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text.replaceAll(EXAMPLE_URL, `${proxy.url}/api/v1`));
  return file;
}

const run = (name: string, text: string, node?: string) =>
  runScript(write(name, text), { COVERS_KEY: key.key }, node);

/** The code of a section of the README. */
function recipe(heading: string): string {
  const readme = readFileSync(path.join(CLIENT_FOLDER, 'README.md'), 'utf8');
  const [, section = ''] = readme.split(`${heading}\n`);
  const [, code = ''] = /```\w+\n(.*?)```/s.exec(section) ?? [];
  if (code === '') throw new Error(`The README of the client has no code under ${heading}.`);
  return code;
}

describe('the package', () => {
  test('contains JavaScript, types, the README and the licence', () => {
    const others = files.filter((file) => !/^dist\/.*\.(?:js|d\.ts)$/.test(file));
    expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
    expect(files).toContain('dist/client/offline.d.ts');
  });

  test(`has at most ${LARGEST_BUNDLE} bytes, bundled, minified and compressed with gzip`, async () => {
    const entry = write('bundle.js', "export * from 'cover-catalogue-client';");
    const bundle = await rolldown({ input: entry });
    const { output } = await bundle.generate({ minify: true });
    expect(output).toHaveLength(1);
    expect(output[0].code).toContain('X-Snapshot');
    expect(gzipSync(output[0].code, { level: 9 }).length).toBeLessThanOrEqual(LARGEST_BUNDLE);
  });
});

describe('strict TypeScript', () => {
  const own = undefined;
  const newest = path.join(ROOT, 'node_modules/typescript/bin/tsc');

  test.each([
    ['nodenext', 'nodenext', own],
    ['bundler', 'esnext', newest],
  ])('accepts correct uses and refuses wrong ones (%s)', async (moduleResolution, module, tsc) => {
    copyFileSync(
      path.join(import.meta.dirname, 'use-in-typescript.txt'),
      path.join(folder, 'use.ts'),
    );
    const options = { moduleResolution, module, exactOptionalPropertyTypes: true };
    expect(await compile(folder, options, tsc)).toBe('');
  });
});

/** What a recipe prints, in lines. */
async function linesOf(heading: string, node?: string): Promise<string[]> {
  return (await run('recipe.js', recipe(heading), node)).trimEnd().split('\n');
}

describe('the recipes of the README', () => {
  test.each(findNodes())('the first example, with %s', async (node) => {
    expect(await linesOf('# cover-catalogue-client', node)).toEqual(['Chrono Trigger (1995)']);
  });

  test('the whole catalogue, which begins again when the snapshot changes', async () => {
    const code = recipe('## The whole catalogue');
    const expected = /^230 games of snapshot 000001-[0-9a-f]{12}\n$/;
    expect(await run('crawl.js', code)).toMatch(expected);
    let requests = 0;
    const site = await startSite({
      apiUrl: proxy.url,
      key: key.key,
      folder,
      statusOf: () => (++requests === 5 ? 412 : undefined),
    });
    const again = code.replaceAll(EXAMPLE_URL, `${site.url}/api/v1`);
    expect(await run('crawl.js', again)).toMatch(expected);
    const { json } = await proxy.get('/snapshot', key.key);
    const packs = json.files.filter((file: { path: string }) => file.path.startsWith('games/'));
    // The manifest twice, one file that is refused, and each file once.
    expect(requests).toBe(packs.length + 3);
  });

  test('a copy that stays current', async () => {
    const client = createClient({ url: `${proxy.url}/api/v1`, key: key.key });
    const snapshotOf = async () => (await client.get('/snapshot')).id;
    const readAll = async () => {
      const games: [id: number, game: Game][] = [];
      for await (const game of client.items('/search')) games.push([game.id, game]);
      return { snapshot: await snapshotOf(), games: games.toSorted(([a], [b]) => a - b) };
    };
    const before = await readAll();
    write('copy.json', JSON.stringify(before));
    await publishChanges();
    await proxy.refresh();
    const code = `${recipe('## A copy that stays current')}
      const { readFileSync } = await import('node:fs');
      const copy = JSON.parse(readFileSync('copy.json', 'utf8'));
      const { snapshot, games } = await update({ ...copy, games: new Map(copy.games) });
      console.log(JSON.stringify({ snapshot, games: [...games].sort(([a], [b]) => a - b) }));`;
    const after = await readAll();
    expect(after.games).not.toEqual(before.games);
    expect(JSON.parse(await run('update.js', code))).toEqual(after);
  });
});

/**
 * Publishes a second generation: one game is new, one is gone, and so many are different that the list
 * of changes has more than one page.
 */
async function publishChanges(): Promise<void> {
  await change(
    databaseUrl,
    "UPDATE games SET publisher = 'Nobody' WHERE id > 1020",
    "INSERT INTO games (id, platform_id, slug, title) SELECT 9001, platform_id, 'new', 'New' FROM games WHERE id = 1001",
    'DELETE FROM covers WHERE game_id = 1010',
    'DELETE FROM games WHERE id = 1010',
  );
  await generate(databaseUrl, snapshotsDir);
  writeKeys(snapshotsDir, [key]);
}

describe('in a web page', { timeout: 60_000 }, () => {
  let browser: Chromium;
  let site: Site;
  let visits: Visits;

  beforeAll(async () => {
    browser = await startChromium();
    site = await startSite({ apiUrl: proxy.url, key: key.key, folder });
    visits = makeVisits(browser, site.url);
  });

  afterAll(async () => {
    await browser?.close();
  });

  /** Shows a page. Its script may print with `print`. */
  async function open(html: string): Promise<Page> {
    site.show(html);
    const page = await visits.open();
    await page.goto(site.url);
    return page;
  }

  /** What the script of a module prints in an element, once it is there. */
  async function printOf(code: string): Promise<string | null> {
    const page = await open(`<script type="module">
      ${code}
      const found = document.createElement('output');
      found.textContent = JSON.stringify(result);
      document.body.append(found);
    </script>`);
    await page.locator('output').waitFor();
    return page.locator('output').textContent();
  }

  test('search as you type', async () => {
    const page = await open(recipe('## Search as you type'));
    const items = page.locator('#games li');
    await page.locator('#search').pressSequentially('chrono t');
    // Searches with fewer letters find more.
    await page.locator('#games:not(:has(li:nth-child(3))) li:nth-child(2)').waitFor();
    expect(await items.count()).toBe(2);
    expect(await items.first().textContent()).toMatch(/^Chrono Trigger \(/);
    expect([visits.complaints, visits.foreign]).toEqual([[], []]);
  });

  test('search without a server', async () => {
    const code = recipe('## Search without a server')
      .replaceAll(EXAMPLE_URL, `${proxy.url}/api/v1`)
      .replace('process.env.COVERS_KEY', `'${key.key}'`)
      .replace(/console\.log\((.*)\);/, 'const result = $1;');
    expect(await printOf(code)).toBe('["ds/chrono-trigger","snes/chrono-trigger"]');
  });
});
