/**
 * Forged generations with valid hashes. Opening each is either refused with an error that names a
 * file, or the generation is served without hanging and without reading outside its files.
 */
import { cpSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { beforeAll, expect, test } from 'vitest';
import { makeRandom } from '../../../demo/catalogue/random.ts';
import { encodeHold, parseHold } from '../../../format/hold-file.ts';
import { encodeKeyUsage, parseKeyUsage } from '../../../format/key-usage.ts';
import { encodeKeys, parseKeys } from '../../../format/keys-file.ts';
import { encodeStatus, parseStatus } from '../../../format/status-file.ts';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { makeSnapshots } from '../../catalogue/snapshots.ts';
import { makeFolder } from '../../support/product.ts';
import { printFigure, rounds } from '../rounds.ts';
import { changedJson, type Files } from './forged-files.ts';
import type { ForgedOrder, ForgedResult } from './forged-files-worker.ts';

const FORGERIES = rounds(200, 10_000);
const JSON_CHANGES = rounds(1_000, 10_000);
const HANG_SECONDS = 30;

let dir: string;
let base: Files;
let targets: string[];

beforeAll(async () => {
  const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 60, seed: 5, platforms: 5 }));
  dir = path.join(snapshotsDir, readlinkSync(path.join(snapshotsDir, 'current')));
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(path.join(dir, name)).isFile(),
  );
  base = new Map(names.map((name) => [name, new Uint8Array(readFileSync(path.join(dir, name)))]));
  targets = targetsOf(base);
});

const textOf = (files: Files, name: string) => Buffer.from(files.get(name) ?? []).toString();

/** All requests that the worker makes: every resource, and searches of every kind. */
function targetsOf(files: Files): string[] {
  const platforms = JSON.parse(textOf(files, 'platforms.json')).data as { slug: string }[];
  const records = (folder: string) =>
    platforms.flatMap(({ slug }) => JSON.parse(textOf(files, `${folder}/${slug}.json`)));
  const games = records('games');
  const values = [...new Set(games.flatMap(({ title }) => title.split(' ')))] as string[];
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

/** @throws Error with the seed at which the worker hung or failed */
function run(seeds: ForgedOrder['seeds']): Promise<ForgedResult> {
  const at = new Int32Array(new SharedArrayBuffer(4));
  const copy = path.join(makeFolder(), 'generation');
  cpSync(dir, copy, { recursive: true });
  const workerData: ForgedOrder = { dir: copy, base, targets, seeds, at };
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./forged-files-worker.ts', import.meta.url), { workerData });
    let last = -1;
    let seconds = 0;
    const watch = setInterval(() => {
      const now = Atomics.load(at, 0);
      seconds = now === last ? seconds + 1 : 0;
      last = now;
      if (seconds < HANG_SECONDS) return;
      void worker.terminate();
      reject(new Error(`The forgery of seed ${now} hung for ${HANG_SECONDS} s.`));
    }, 1_000);
    worker.once('message', resolve);
    worker.once('error', (error) =>
      reject(new Error(`Seed ${Atomics.load(at, 0)} ended the process.`, { cause: error })),
    );
    worker.once('exit', () => clearInterval(watch));
  });
}

test(`each of ${FORGERIES} forged generations is refused with the name of a file, or served safely`, async () => {
  const { refused, served, longest, faults } = await run({ from: 1, to: 1 + FORGERIES });
  expect(faults).toEqual([]);
  expect(refused + served).toBe(FORGERIES);
  // Both outcomes must occur often, or the test would prove little.
  expect(Math.min(refused, served)).toBeGreaterThan(FORGERIES / 20);
  printFigure(
    'A damaged generation is never served',
    `${FORGERIES} forgeries with valid hashes: ${refused} refused with the name of a file, ${served} served within their files; the slowest took ${longest.toFixed(0)} ms`,
  );
});

/** Files as their writers make them, and how each is read and written again. */
const JSON_FILES: readonly [name: string, text: string, rewrite: (text: string) => string][] = [
  [
    'keys.json',
    encodeKeys([
      { id: 1, hash: 'a'.repeat(64), state: 'approved', limit: 120 },
      { id: 2, hash: 'b'.repeat(64), state: 'revoked', limit: 5 },
    ]),
    (text) => encodeKeys(parseKeys(text)),
  ],
  [
    'key-usage-8080.json',
    encodeKeyUsage({
      days: new Map([[1, '2026-11-21']]),
      counts: [
        {
          run: '0123456789abcdef',
          day: '2026-11-21',
          keys: new Map([[1, { requests: 9, notModified: 1, refused: 2, bytes: 345 }]]),
        },
      ],
    }),
    (text) => encodeKeyUsage(parseKeyUsage(text, 'key-usage-8080.json')),
  ],
  [
    'status.json',
    encodeStatus({
      finished_at: '2026-11-21T10:00:00Z',
      outcome: 'failed',
      id: '000012-0123456789ab',
      current_as_of: '2026-11-21T09:00:00Z',
      error: 'It failed.',
    }),
    (text) => encodeStatus(parseStatus(text)),
  ],
  [
    'hold.json',
    encodeHold({
      id: '000012-0123456789ab',
      since: '2026-11-21T10:00:00Z',
      reason: 'The import is wrong.',
      by: 'rollback',
    }),
    (text) => encodeHold(parseHold(text)),
  ],
];

test.each(JSON_FILES)(
  'a changed %s is refused with its name, or gives values that can be written and read again',
  (name, text, rewrite) => {
    expect(rewrite(text)).toBe(text);
    let refused = 0;
    for (let seed = 0; seed < JSON_CHANGES; seed++) {
      const random = makeRandom(seed);
      const changed = random.happens(0.8)
        ? changedJson(text, random)
        : text.slice(0, random.below(text.length));
      let rewritten: string;
      try {
        rewritten = rewrite(changed);
      } catch (error) {
        refused++;
        expect((error as Error).message, changed).toMatch(new RegExp(`^${name} (?:is|has) `));
        continue;
      }
      expect(rewrite(rewritten)).toBe(rewritten);
    }
    expect(refused).toBeGreaterThan(JSON_CHANGES / 10);
    expect(refused).toBeLessThan(JSON_CHANGES);
  },
);
