/**
 * The package of the client, as `npm pack` makes it, installed in an empty folder: plain JavaScript,
 * strict TypeScript, a web page, and the recipes of its README.
 */

import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import type { Page } from 'playwright-core';
import { rolldown } from 'rolldown';
import { Pool, request } from 'undici';
import { beforeEach, describe, expect, test } from 'vitest';
import { createClient, type Game } from '#client/index.ts';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { useChromium, type Visits } from '#test/support/browser.ts';
import { change } from '#test/support/databases.ts';
import type { Texts } from '#test/support/processes.ts';
import {
  generate,
  makeFolder,
  NEVER,
  ROOT,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { serve } from '#test/support/servers/static-files.ts';

const IMPORT_MAP = JSON.stringify({
  imports: {
    'cover-catalogue-client': '/node_modules/cover-catalogue-client/dist/client/index.js',
    'openapi-fetch': '/node_modules/openapi-fetch/dist/index.mjs',
  },
});

const execute = promisify(execFile);

const CLIENT_FOLDER = path.join(ROOT, 'client');

/** Packs the client. @returns the path of the package, and the files in it */
async function packClient(): Promise<{ file: string; files: string[] }> {
  const folder = makeFolder();
  // When npm runs the tests, it hands on the settings of this project, which forbid scripts.
  const args = ['pack', '--json', '--ignore-scripts=false', '--pack-destination', folder];
  const { stdout } = await execute('npm', args, { cwd: CLIENT_FOLDER });
  // npm prints what the compiler prints before the JSON.
  const [{ filename, files }] = JSON.parse(stdout.slice(stdout.indexOf('[\n')));
  return {
    file: path.join(folder, filename),
    files: files.map((one: { path: string }) => one.path),
  };
}

/** Installs the package, with what it depends on, as npm would. @returns the folder */
async function installClient(file: string): Promise<string> {
  const folder = makeFolder();
  writeFileSync(path.join(folder, 'package.json'), '{"private":true,"type":"module"}');
  const packages = path.join(folder, 'node_modules');
  const own = path.join(packages, 'cover-catalogue-client');
  mkdirSync(own, { recursive: true });
  await execute('tar', ['-xzf', file, '-C', own, '--strip-components=1']);
  const { dependencies } = JSON.parse(readFileSync(path.join(own, 'package.json'), 'utf8'));
  // Types of one of them come from this one.
  for (const name of [...Object.keys(dependencies), 'openapi-typescript-helpers']) {
    cpSync(path.join(CLIENT_FOLDER, 'node_modules', name), path.join(packages, name), {
      recursive: true,
    });
  }
  return folder;
}

/** Runs a script with a Node. @returns what it prints; an error contains what it prints to stderr */
async function runScript(
  file: string,
  environment: Texts = {},
  node = process.execPath,
): Promise<string> {
  const options = { cwd: path.dirname(file), env: { PATH: process.env.PATH, ...environment } };
  return (await execute(node, [file], options)).stdout;
}

/** The Node of this machine, outside the packages of the project, and that of the tests. */
function findNodes(): string[] {
  const folders = (process.env.PATH ?? '').split(path.delimiter);
  const own = folders
    .filter((folder) => !folder.includes('node_modules'))
    .map((folder) => path.join(folder, 'node'))
    .find((file) => existsSync(file));
  return [process.execPath, ...(own === undefined ? [] : [own])];
}

/** Compiles with a TypeScript. @returns the errors; empty if there are none */
async function compile(
  folder: string,
  options: Readonly<Record<string, unknown>>,
  compiler = path.join(CLIENT_FOLDER, 'node_modules/typescript/bin/tsc'),
): Promise<string> {
  const compilerOptions = {
    strict: true,
    noEmit: true,
    target: 'es2022',
    types: [],
    lib: ['es2022', 'dom', 'dom.iterable'],
    ...options,
  };
  const config = path.join(folder, `tsconfig.${Object.values(options).join('-')}.json`);
  writeFileSync(config, JSON.stringify({ compilerOptions, include: ['*.ts'] }));
  try {
    await execute(process.execPath, [compiler, '--project', config]);
    return '';
  } catch (error) {
    return (error as { stdout: string }).stdout;
  }
}

const LARGEST_BUNDLE = 6 * 1024;
const key = testKey(1);

const databaseUrl = await makeSampleSqlite();
const snapshotsDir = await makeSampleSnapshots([key]);
const proxy = await startProxy(snapshotsDir, {}, NEVER);
const packed = await packClient();
const files = packed.files;
/** Where the package is installed. */
const folder = await installClient(packed.file);

/** What the website at {@link siteUrl} shows at `/`, and the status that it gives to a response of the API. */
const site = { html: '', statusOf: (): number | undefined => undefined };

/** Forwards a request to the proxy, with the key, as the README recommends. */
async function forward(target: string, incoming: IncomingMessage, response: ServerResponse) {
  const { host, connection, ...headers } = incoming.headers;
  const authorization = `Bearer ${key.key}`;
  const found = await request(proxy.url + target, { headers: { ...headers, authorization } });
  const bytes = Buffer.from(await found.body.arrayBuffer());
  const changed = site.statusOf();
  if (changed === undefined) response.writeHead(found.statusCode, found.headers).end(bytes);
  else
    response.writeHead(changed, changed === 429 ? { 'retry-after': '1' } : {}).end('{"error":""}');
}

const siteUrl = await serve((incoming, response) => {
  const target = incoming.url ?? '';
  const answer = (type: string, text: string | Buffer) =>
    response.writeHead(200, { 'content-type': `text/${type}` }).end(text);
  if (target.startsWith('/api/v1/')) {
    forward(target, incoming, response).catch(() => response.destroy());
  } else if (target === '/') {
    const head = `<!doctype html><title>A page</title><script type="importmap">${IMPORT_MAP}</script>`;
    answer('html; charset=utf-8', head + site.html);
  } else if (target.startsWith('/node_modules/')) {
    answer('javascript', readFileSync(path.join(folder, target)));
  } else response.writeHead(204).end();
});

/** Writes a file next to the package. @returns its path */
function write(name: string, text: string): string {
  const file = path.join(folder, name);
  writeFileSync(file, text);
  return file;
}

const run = (name: string, text: string, node?: string, url = proxy.url) =>
  runScript(write(name, text), { COVERS_API: `${url}/api/v1`, COVERS_KEY: key.key }, node);

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

test('the README of the package links to no file that is not in it', () => {
  const readme = readFileSync(path.join(CLIENT_FOLDER, 'README.md'), 'utf8');
  const links = [...readme.matchAll(/\]\(([^)]+)\)/g)].map(([, target]) => target);
  expect(links.length).toBeGreaterThan(1);
  expect(links.filter((target) => !/^(?:https:|#)/.test(target ?? ''))).toEqual([]);
});

describe('strict TypeScript', () => {
  const own = undefined;
  const newest = path.join(ROOT, 'node_modules/typescript/bin/tsc');

  test.each([
    ['nodenext', 'nodenext', own],
    ['bundler', 'esnext', newest],
    // That of old projects, which does not read "exports".
    ['node10', 'esnext', own],
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
    site.statusOf = () => (++requests === 5 ? 412 : undefined);
    expect(await run('crawl.js', code, undefined, siteUrl)).toMatch(expected);
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

test('the server of the README adds the key, and hands on what the client reads', async () => {
  const code = recipe('## Let your server add the key');
  const listening = `.listen(0, '127.0.0.1', function () { console.log(this.address().port); })`;
  const file = write('server.js', code.replace(/\.listen\(.*\)/, listening));
  const { PATH } = process.env;
  const env = { PATH, COVERS_API: `${proxy.url}/api/v1`, COVERS_KEY: key.key };
  const child = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [port] = await once(child.stdout, 'data');
    const url = `http://127.0.0.1:${String(port).trim()}`;
    const client = createClient({ url: `${url}/api/v1` });
    const { data, response } = await client.request('/search', { query: { q: 'crono triger' } });
    expect(data.data[0]?.title).toBe('Chrono Trigger');
    expect(response.headers.get('x-search-match')).toBe('near');
    expect(response.headers.get('x-snapshot')).toMatch(/^0000/);
    const headers = { 'If-None-Match': response.headers.get('etag') ?? '' };
    expect((await fetch(`${url}/api/v1/search?q=crono+triger`, { headers })).status).toBe(304);
    expect((await fetch(`${url}/account`)).status).toBe(404);
    const pool = new Pool(url);
    const outside = await pool.request({ method: 'GET', path: '/api/v1/../../docs' });
    expect(outside.statusCode).toBe(404);
    await pool.destroy();
  } finally {
    child.kill();
  }
});

describe('in a web page', { timeout: 60_000 }, async () => {
  const visitsOf = await useChromium();
  let visits: Visits;
  beforeEach(() => {
    visits = visitsOf(siteUrl);
  });

  /** Shows a page. Its script may print with `print`. */
  async function open(html: string): Promise<Page> {
    site.html = html;
    const page = await visits.open();
    await page.goto(siteUrl);
    return page;
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
    let refused = 0;
    site.statusOf = () => (refused++ === 0 ? 429 : undefined);
    await page.locator('#search').fill('advance wars');
    await page.locator('#wait:has-text("wait 1 s")').waitFor();
    await page.locator('#wait:empty').waitFor({ state: 'attached' });
    expect(await items.first().textContent()).toMatch(/^Advance Wars/);
  });
});
