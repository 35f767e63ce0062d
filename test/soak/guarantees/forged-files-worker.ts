/**
 * Checks one forged generation after another as when it arrives, opens those that pass as the proxy does, and requests
 * every resource of each. A program of its own, because one that hangs can only be killed. Its arguments are the
 * folder of a real generation, whose files it overwrites, and the number of forgeries. It prints what it found as JSON.
 */
import { closeSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { checkFind } from '#find/check.ts';
import type { StoredColumn } from '#lib/columns/container.ts';
import { numberAt } from '#lib/columns/numbers.ts';
import { gameSlug } from '#lib/format/index/record-index.ts';
import { isIntact } from '#lib/generations/files/checked-files.ts';
import { verifyAndOpen, withoutRecords } from '#lib/generations/verify.ts';
import { makeFindRoute } from '#proxy/api/routes/find-route.ts';
import { takeAll } from '#proxy/api/routes/route.ts';
import { splitTarget } from '#proxy/http/request.ts';
import { type Generation, makeGeneration, viewIndexes } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { type Files, forge } from './forged-files.ts';

/** Makes each column of an object strict, and keeps everything else. */
function strictly<T extends object>(columns: T): T {
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => {
      if (ArrayBuffer.isView(value)) return [name, strictColumn(value as StoredColumn, name)];
      const isObject = typeof value === 'object' && value !== null && value.constructor === Object;
      return [name, isObject ? strictly(value) : value];
    }),
  ) as T;
}

function strictColumn<T extends StoredColumn>(column: T, name: string): T {
  return new Proxy(column, {
    get(target, key) {
      if (key === 'subarray') {
        return (from = 0, to = target.length) => {
          const isInside = Number.isInteger(from) && from >= 0 && from <= to && to <= target.length;
          if (!isInside) throw new Error(`"${name}" has no entries ${from} to ${to}.`);
          return strictColumn(target.subarray(from, to) as T, name);
        };
      }
      if (!(key in target)) throw new Error(`"${name}" has no entry ${String(key)}.`);
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}

export interface ForgedResult {
  readonly refused: number;
  readonly served: number;
  /** The longest time for one forgery, in milliseconds of CPU time. */
  readonly longest: number;
  readonly faults: readonly string[];
}

/** The highest CPU time for one forgery. */
const MOST_SECONDS = 1;
/** How many games per platform are also requested by the slugs in the forged index. */
const FORGED_SLUGS = 20;

const [dir = '', forgeries] = process.argv.slice(2);
const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) =>
  statSync(path.join(dir, name)).isFile(),
);
const base: Files = new Map(
  names.map((name) => [name, new Uint8Array(readFileSync(path.join(dir, name)))]),
);
const targets = targetsOf(base);
const matchRoute = makeFindRoute('');
const faults: string[] = [];
const outcomes = { refused: 0, served: 0 };
let longest = 0;
let onDisk: readonly string[] = [];

function writeFiles(files: Files): void {
  const changed = [...files].filter(([name, bytes]) => bytes !== base.get(name));
  for (const name of onDisk) writeFileSync(path.join(dir, name), base.get(name) as Uint8Array);
  for (const [name, bytes] of changed) writeFileSync(path.join(dir, name), bytes);
  onDisk = changed.map(([name]) => name);
}

async function tryToOpen(id: string) {
  try {
    await verifyAndOpen(dir, withoutRecords(isIntact, checkFind));
    const files = openFiles({ dir, id });
    const generation = makeGeneration(files, strictly(viewIndexes(files)));
    return { descriptors: files.descriptors, generation };
  } catch (error) {
    return error as Error;
  }
}

function request(generation: Generation, target: string): void {
  const [route, query] = splitTarget(target);
  const found = matchRoute(route)?.prepare(query)(generation);
  if (found === undefined || found === 'sinceGone') return;
  const answer = 'steps' in found ? takeAll(found.steps) : found;
  if (!/^[0-9a-f]{16}$/.test(answer.hash)) throw new Error(`${target} has no hash`);
  const [odd] = /[^\x20-\x7e\r\n].*/.exec(answer.headers) ?? [];
  if (odd !== undefined) throw new Error(`${target} has the header ${odd}`);
}

function requestAll(generation: Generation): void {
  const { index: records } = generation;
  for (const target of targets) request(generation, target);
  for (const { slug, firstGame, games } of records.platforms) {
    request(generation, `/platforms/${slug}`);
    for (let game = firstGame; game < firstGame + Math.min(games, FORGED_SLUGS); game++) {
      request(
        generation,
        `/games/${slug}/${encodeURIComponent(gameSlug(records, numberAt(game)))}/covers`,
      );
    }
  }
  for (let cover = 0; cover < records.covers.byteLength.length; cover++)
    generation.covers.body(cover);
}

for (let seed = 1; seed <= Number(forgeries) && faults.length <= 5; seed++) {
  const { files, id, changes } = forge(base, seed);
  const name = `seed ${seed} (${changes.join(', ')})`;
  // The last line is of the one that hangs.
  process.stderr.write(`${name}\n`);
  writeFiles(files);
  const started = process.threadCpuUsage();
  const opened = await tryToOpen(id);
  if (opened instanceof Error) {
    outcomes.refused++;
    const isNamed = [...base.keys()].some((file) => opened.message.includes(file));
    if (!isNamed) faults.push(`${name}: the error names no file: ${opened.stack}`);
  } else {
    outcomes.served++;
    try {
      requestAll(opened.generation);
    } catch (error) {
      faults.push(`${name} was opened and failed later: ${(error as Error).stack}`);
    }
    opened.descriptors.forEach(closeSync);
  }
  const { user, system } = process.threadCpuUsage(started);
  longest = Math.max(longest, (user + system) / 1000);
  if (user + system > MOST_SECONDS * 1e6) faults.push(`${name} took ${user + system} µs`);
}
process.stdout.write(JSON.stringify({ ...outcomes, longest, faults } satisfies ForgedResult));

/** All requests: every resource, and searches of every kind. */
function targetsOf(files: Files): string[] {
  const textOf = (name: string) => Buffer.from(files.get(name) ?? []).toString();
  const platforms = JSON.parse(textOf('platforms.json')).data as { slug: string }[];
  const records = (folder: string) =>
    platforms.flatMap(({ slug }) => JSON.parse(textOf(`${folder}/${slug}.json`)));
  const games = records('games');
  const values = [...new Set(games.flatMap(({ title }) => title.split(' ')))];
  const { region, type } = records('covers').find((cover) => cover.region && cover.type);
  const genre = games.find((game) => game.genres).genres.split(', ')[0];
  const filters = { platform: platforms[0]?.slug ?? '', region, type, genre };
  return [
    ...['/platforms', '/stats', '/covers/recent', '/covers/0', '/games/none/none'],
    ...platforms.flatMap(({ slug }) => [
      ...[`/platforms/${slug}`, `/games/${slug}/none`, `/games/${slug}/`],
      ...[1, 7, 100].flatMap((size) =>
        [1, 2, 99].map((page) => `/platforms/${slug}/games?per_page=${size}&page=${page}`),
      ),
    ]),
    ...games.map((game) => `/games/${game.platform.slug}/${game.slug}`),
    ...games.map((game) => `/games/${game.platform.slug}/${game.slug}/covers`),
    ...records('covers').map(({ id }) => `/covers/${id}`),
    ...['title_asc', 'title_desc', 'year_asc', 'year_desc', 'relevance'].flatMap((sort) => [
      `/search?sort=${sort}&page=2&per_page=9`,
      `/search?sort=${sort}&q=e&per_page=100`,
      ...Object.entries(filters).map(
        ([name, value]) => `/search?sort=${sort}&${new URLSearchParams({ [name]: value })}`,
      ),
    ]),
    // A prefix, the word itself, and a misspelling.
    ...values
      .slice(0, 40)
      .flatMap((word) =>
        [word.slice(0, 2), word, `${word.slice(0, -1)}qq`].map(
          (q) => `/search?${new URLSearchParams({ q })}`,
        ),
      ),
    // All words, joined words, words of a platform, and a word too many.
    ...games
      .slice(0, 20)
      .flatMap(({ title, platform }) =>
        [title, title.replaceAll(' ', ''), `${title} ${platform.slug}`, `${title} qqqqq`].map(
          (q) => `/search?sort=relevance&${new URLSearchParams({ q: q.slice(0, 100) })}`,
        ),
      ),
  ];
}
