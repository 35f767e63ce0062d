/** Reads the whole catalogue from a proxy, to compare later responses with it. */
import { expect } from 'vitest';
import type { RunningProxy } from '../../support/product.ts';

export async function readAll(proxy: RunningProxy, key: string) {
  /** The body of each resource, by its target. */
  const bodies = new Map<string, string>();
  /** The games of each list with pages, by its path. */
  const games = new Map<string, { slug: string; platform: { slug: string } }[]>();
  const read = async (target: string) => {
    const reply = await proxy.get(target, key);
    expect([target, reply.status]).toEqual([target, 200]);
    bodies.set(target, reply.text);
    return reply.json;
  };
  const readPages = async (path: string) => {
    games.set(path, []);
    for (let page = 1, pages = 1; page <= pages; page++) {
      const { data, total_pages } = await read(`${path}?per_page=100&page=${page}`);
      games.get(path)?.push(...data);
      pages = total_pages;
    }
  };
  await read('/stats');
  await read('/covers/recent');
  for (const { slug } of (await read('/platforms')).data) {
    await read(`/platforms/${slug}`);
    await readPages(`/platforms/${slug}/games`);
  }
  await readPages('/search');
  for (const { slug, platform } of games.get('/search') ?? []) {
    const game = `/games/${platform.slug}/${slug}`;
    await read(game);
    for (const { id } of (await read(`${game}/covers`)).data) await read(`/covers/${id}`);
  }
  return { bodies, games };
}
