/**
 * Serves the current generation of a snapshots folder with the real proxy, requests every resource
 * and checks each response against openapi.yaml and against the other responses.
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { KEYS_FILE } from '../../format/layout.ts';
import { checkContract } from './openapi.ts';
import { send, startProxy, testKey, writeKeys } from './product.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
type Json = any;

export interface Served {
  /** By the exact id. */
  readonly games: Map<string, Json>;
  readonly covers: Map<string, Json>;
  /** The ids of all files. */
  readonly files: string[];
  /** All bodies, one after another. */
  readonly text: string;
  /** How many responses were checked. */
  readonly resources: number;
}

const key = testKey(1);

/** Parses JSON. An integer that a double cannot hold becomes a string of its digits. */
function parseExactly(text: string): Json {
  return JSON.parse(text, (_, value, context?: { source?: string }) =>
    typeof value === 'number' && !Number.isSafeInteger(value) ? context?.source : value,
  );
}

export async function crawl(snapshotsDir: string): Promise<Served> {
  writeKeys(snapshotsDir, [key]);
  const proxy = await startProxy(snapshotsDir);
  const texts: string[] = [];
  const games = new Map<string, Json>();
  const covers = new Map<string, Json>();
  const files: string[] = [];

  async function get(apiPath: string): Promise<{ body: Json; text: string }> {
    const url = `/api/v1${apiPath}`;
    const reply = await send(proxy.url + url, { headers: { 'x-api-key': key.key } });
    expect(reply.status, `${url}: ${reply.text.slice(0, 200)}`).toBe(200);
    checkContract('GET', url, reply);
    // Well-formed UTF-8, and no lone surrogate written as an escape.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(reply.bytes);
    expect(text).not.toMatch(/\\ud[89a-f]/i);
    texts.push(text);
    return { body: parseExactly(text), text };
  }

  /** Every item of a paginated list. */
  async function getAll(apiPath: string): Promise<Json[]> {
    const items: Json[] = [];
    for (let page = 1; ; page++) {
      const { body } = await get(`${apiPath}?per_page=100&page=${page}`);
      items.push(...body.data);
      if (page < body.total_pages) continue;
      expect(items).toHaveLength(body.total);
      return items;
    }
  }

  async function getGame(game: Json): Promise<void> {
    const apiPath = `/games/${game.platform.slug}/${game.slug}`;
    expect(games.has(String(game.id)), `the game ${game.id} appears twice`).toBe(false);
    games.set(String(game.id), game);
    expect((await get(apiPath)).body).toEqual(game);
    const list = (await get(`${apiPath}/covers`)).body.data;
    expect(list).toHaveLength(game.cover_count);
    for (const cover of list) {
      expect(covers.has(String(cover.id)), `the cover ${cover.id} appears twice`).toBe(false);
      covers.set(String(cover.id), cover);
      expect((await get(`/covers/${cover.id}`)).body).toEqual(cover);
      files.push(...cover.files.map(({ id }: Json) => String(id)));
    }
  }

  try {
    const platforms = (await get('/platforms')).body.data;
    for (const platform of platforms) {
      expect((await get(`/platforms/${platform.slug}`)).body).toEqual(platform);
      const list = await getAll(`/platforms/${platform.slug}/games`);
      expect(list).toHaveLength(platform.game_count);
      for (const game of list) await getGame(game);
    }
    const found = await getAll('/search');
    expect(found.map(({ id }) => String(id)).toSorted()).toEqual([...games.keys()].toSorted());
    for (const { title } of found) {
      // The API takes a replacement character in `q` for malformed UTF-8.
      const words = encodeURIComponent(title.slice(0, 40).toWellFormed().replaceAll('\ufffd', ''));
      await get(`/search?q=${words}`);
    }
    await get('/covers/recent');
    const { body: stats } = await get('/stats');
    expect(stats).toMatchObject({
      platforms: platforms.length,
      games: games.size,
      covers: covers.size,
      cover_files: files.length,
    });
    return { games, covers, files, text: texts.join('\n'), resources: texts.length };
  } finally {
    await proxy.stop();
    rmSync(path.join(snapshotsDir, KEYS_FILE));
  }
}
