/**
 * The exact body that the API answers for a path, cut out of a generation's files.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import {
  findCover,
  findGame,
  platformOf,
  type RecordColumns,
} from '../format/index/record-index.ts';
import { COVERS_RECENT, coversPack, gamesPack, PLATFORMS, STATS } from '../format/layout.ts';
import { listHead, listTail, pageTail } from '../format/pack.ts';
import { openIndexOf } from '../store/generations/open-index.ts';

const DEFAULT_PER_PAGE = 50;
const LARGEST_PER_PAGE = 100;

/**
 * @param dir the generation's folder
 * @param apiPath below the base; `/platforms/…/games` may carry `page` and `per_page`
 * @throws Error when there is no such resource, or when it has no file: `/search` is computed
 */
export function showBody(dir: string, apiPath: string): Buffer {
  const [pathname = '', queryString = ''] = apiPath.split('?', 2);
  const [, kind, first = '', second = '', third, ...rest] = pathname.split('/');
  const missing = () => new Error(`There is no ${apiPath} in ${path.basename(dir)}.`);
  if (rest.length > 0) throw missing();
  if (pathname === '/search') throw new Error('/search is answered by the proxy, not from a file.');
  if (pathname === '/platforms') return readFileSync(path.join(dir, PLATFORMS));
  if (pathname === '/stats') return readFileSync(path.join(dir, STATS));
  if (pathname === '/covers/recent') return readFileSync(path.join(dir, COVERS_RECENT));
  const index = openIndexOf(dir);
  const { platforms, games, covers } = index;
  const entry = (number: number) => platforms[number];

  if (kind === 'covers' && second === '') {
    const cover = findCover(index, first);
    if (cover === undefined) throw missing();
    const { slug } = entry(platformOf(platforms, 'first_cover', cover));
    return readRun(path.join(dir, coversPack(slug)), covers, cover, cover + 1);
  }
  const platform = index.platformBySlug.get(first);
  if (platform === undefined) throw missing();
  const { slug, offset, length, first_game, games: total } = entry(platform);
  if (kind === 'platforms' && second === '') {
    return readFileSync(path.join(dir, PLATFORMS)).subarray(offset, offset + length);
  }
  if (kind === 'platforms' && second === 'games' && third === undefined) {
    const { page, perPage } = readPaging(queryString);
    const from = Math.min(first_game + (page - 1) * perPage, first_game + total);
    const to = Math.min(from + perPage, first_game + total);
    const tail = pageTail(to - from, page, perPage, total);
    return list(readRun(path.join(dir, gamesPack(slug)), games, from, to), to - from, tail);
  }
  const game = kind === 'games' ? findGame(index, platform, second) : undefined;
  if (game === undefined) throw missing();
  if (third === undefined) return readRun(path.join(dir, gamesPack(slug)), games, game, game + 1);
  if (third !== 'covers') throw missing();
  const from = games.firstCover[game];
  const to = games.firstCover[game + 1];
  return list(
    readRun(path.join(dir, coversPack(slug)), covers, from, to),
    to - from,
    listTail(to - from),
  );
}

function list(records: Buffer, count: number, tail: string): Buffer {
  return Buffer.concat([Buffer.from(listHead(count)), records, Buffer.from(tail)]);
}

/** The bytes of the records from one number to before another, with what stands between them. */
function readRun(pack: string, columns: RecordColumns, from: number, to: number): Buffer {
  if (from === to) return Buffer.alloc(0);
  const start = columns.byteOffset[from];
  const end = columns.byteOffset[to - 1] + columns.byteLength[to - 1];
  const bytes = Buffer.alloc(end - start);
  const descriptor = openSync(pack, 'r');
  try {
    for (let at = 0; at < bytes.length; ) {
      const read = readSync(descriptor, bytes, at, bytes.length - at, start + at);
      if (read === 0) throw new Error(`${pack} ends before byte ${end}.`);
      at += read;
    }
  } finally {
    closeSync(descriptor);
  }
  return bytes;
}

function readPaging(queryString: string): { page: number; perPage: number } {
  const parameters = new URLSearchParams(queryString);
  const read = (name: string, fallback: number, largest: number) => {
    const text = parameters.get(name) || String(fallback);
    const value = /^[1-9]\d{0,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value <= largest) return value;
    throw new Error(
      `${name} must be an integer from 1 to ${largest}, not ${JSON.stringify(text)}.`,
    );
  };
  return {
    page: read('page', 1, Number.MAX_SAFE_INTEGER),
    perPage: read('per_page', DEFAULT_PER_PAGE, LARGEST_PER_PAGE),
  };
}
