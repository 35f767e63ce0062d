/**
 * 2,000 responses of the sample catalogue are the same, byte for byte, as those that were recorded
 * before `include`, batches and other additions to the specification existed. When the sample catalogue
 * changes, record them again (`vitest -u`) before anything else changes.
 */
import { createHash } from 'node:crypto';
import { beforeAll, expect, test } from 'vitest';
import { makeRandom } from '../../catalogue/random.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { type RunningProxy, send, startProxy, testKey } from '../../support/product.ts';

const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc'];
const TARGETS = 2_000;
const key = testKey(1);
let proxy: RunningProxy;

beforeAll(async () => {
  proxy = await startProxy(await makeSampleSnapshots([key]));
});

function get(target: string) {
  return send(`${proxy.url}/api/v1${target}`, { headers: { 'x-api-key': key.key } });
}

async function listAt(target: string) {
  return JSON.parse((await get(target)).text).data;
}

async function makeTargets(): Promise<Set<string>> {
  const random = makeRandom(14);
  const platforms: { slug: string }[] = await listAt('/platforms');
  const all = new Set(['/platforms', '/stats', '/covers/recent', '/search']);
  const titles: string[] = [];
  const games: string[] = [];
  const covers: string[] = [];
  for (const { slug } of platforms) {
    all.add(`/platforms/${slug}`).add(`/platforms/${slug}/games`);
    for (const game of await listAt(`/platforms/${slug}/games?per_page=100`)) {
      titles.push(game.title);
      games.push(`/games/${slug}/${game.slug}`);
      const list = `/games/${slug}/${game.slug}/covers`;
      covers.push(list);
      for (const { id } of await listAt(list)) covers.push(`/covers/${id}`);
    }
  }
  const addSome = (from: readonly string[], most: number) => {
    for (const target of from) if (all.size < most) all.add(target);
  };
  addSome(games, 500);
  addSome(covers, 1_100);
  while (all.size < 1_300) {
    const page = `page=${1 + random.below(4)}&per_page=${1 + random.below(100)}`;
    all.add(`/platforms/${random.pick(platforms).slug}/games?${page}`);
  }
  while (all.size < TARGETS) {
    const words = random.pick(titles).split(' ');
    const query = new URLSearchParams({ q: words.slice(0, 1 + random.below(3)).join(' ') });
    query.set('sort', random.pick(SORTS));
    if (random.happens(0.3)) query.set('platform', random.pick(platforms).slug);
    if (random.happens(0.2)) query.set('page', String(1 + random.below(3)));
    if (random.happens(0.3)) query.set('per_page', String(1 + random.below(100)));
    all.add(`/search?${query}`);
  }
  return all;
}

test('responses that use nothing new are byte for byte those recorded before', async () => {
  const lines: string[] = [];
  for (const target of await makeTargets()) {
    const { status, headers, text } = await get(target);
    const hash = createHash('sha256').update(text).digest('hex').slice(0, 16);
    lines.push(`${status} ${hash} ${headers.etag} ${target}\n`);
  }
  expect(lines).toHaveLength(TARGETS);
  await expect(lines.join('')).toMatchFileSnapshot('recorded-responses.txt');
});
