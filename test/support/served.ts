/**
 * Serves the current generation of a snapshots folder with the real proxy, requests every resource
 * and checks each response against openapi.yaml and against the other responses.
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { KEYS_FILE } from '#lib/format/layout.ts';
import { checkContract } from './openapi.ts';
import { send, startProxy, testKey, writeKeys } from './product.ts';
import { readAll } from './read-all.ts';

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
  const bodies = new Map<string, Json>();
  const bodyOf = (target: string) => bodies.get(target);

  async function read(target: string): Promise<Json> {
    const url = `/api/v1${target}`;
    const reply = await send(proxy.url + url, { headers: { 'x-api-key': key.key } });
    expect(reply.status, `${url}: ${reply.text.slice(0, 200)}`).toBe(200);
    checkContract('GET', url, reply);
    // Well-formed UTF-8, and no lone surrogate written as an escape.
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(reply.bytes);
    expect(text).not.toMatch(/\\ud[89a-f]/i);
    texts.push(text);
    bodies.set(target, parseExactly(text));
    return bodyOf(target);
  }

  try {
    const lists = await readAll(read);
    const games = new Map<string, Json>();
    const covers = new Map<string, Json>();
    const platforms: Json[] = bodyOf('/platforms').data;
    for (const platform of platforms) {
      const target = `/platforms/${platform.slug}`;
      expect(bodyOf(target)).toEqual(platform);
      const list = lists.get(`${target}/games`) ?? [];
      expect(list).toHaveLength(platform.game_count);
      for (const game of list) addOnce(games, game);
    }
    for (const game of games.values()) {
      const target = `/games/${game.platform.slug}/${game.slug}`;
      expect(bodyOf(target)).toEqual(game);
      const { data: own } = bodyOf(`${target}/covers`);
      expect(own).toHaveLength(game.cover_count);
      for (const cover of own) {
        addOnce(covers, cover);
        expect(bodyOf(`/covers/${cover.id}`)).toEqual(cover);
      }
    }
    const found = lists.get('/search') ?? [];
    expect(found.map(({ id }) => String(id)).toSorted()).toEqual([...games.keys()].toSorted());
    for (const { title } of found) {
      // The API takes a replacement character in `q` for malformed UTF-8.
      const words = encodeURIComponent(title.slice(0, 40).toWellFormed().replaceAll('\ufffd', ''));
      await read(`/search?q=${words}`);
    }
    const files = [...covers.values()].flatMap((cover) =>
      cover.files.map(({ id }: Json) => `${id}`),
    );
    expect(bodyOf('/stats')).toMatchObject({
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

function addOnce(records: Map<string, Json>, record: Json): void {
  expect(records.has(String(record.id)), `${record.id} appears twice`).toBe(false);
  records.set(String(record.id), record);
}
