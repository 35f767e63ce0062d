/** Reads the whole catalogue through the API. */
import { expect } from 'vitest';
import type { RunningProxy } from './product.ts';

// biome-ignore lint/suspicious/noExplicitAny: bodies of any shape
type Json = any;

/**
 * @param read reads a target, such as "/stats", and returns its parsed body
 * @returns the games of each list with pages, by its path
 */
export async function readAll(read: (target: string) => Promise<Json>) {
  const games = new Map<string, Json[]>();
  const readPages = async (path: string) => {
    const found: Json[] = [];
    for (let page = 1, pages = 1; page <= pages; page++) {
      const { data, total, total_pages } = await read(`${path}?per_page=100&page=${page}`);
      found.push(...data);
      pages = total_pages;
      if (page >= pages) expect(found).toHaveLength(total);
    }
    games.set(path, found);
    return found;
  };
  await read('/stats');
  await read('/covers/recent');
  for (const { slug } of (await read('/platforms')).data) {
    await read(`/platforms/${slug}`);
    await readPages(`/platforms/${slug}/games`);
  }
  for (const { slug, platform } of await readPages('/search')) {
    const game = `/games/${platform.slug}/${slug}`;
    await read(game);
    for (const { id } of (await read(`${game}/covers`)).data) await read(`/covers/${id}`);
  }
  return games;
}

/** Reads all from a proxy. @returns also the body of each resource, by its target */
export async function readBodies(proxy: RunningProxy, key: string) {
  const bodies = new Map<string, string>();
  const games = await readAll(async (target) => {
    const reply = await proxy.get(target, key);
    expect([target, reply.status]).toEqual([target, 200]);
    bodies.set(target, reply.text);
    return reply.json;
  });
  return { bodies, games };
}
