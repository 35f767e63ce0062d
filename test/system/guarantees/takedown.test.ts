/**
 * A cover that was taken down: no path of the contract, with any of its headers, returns anything of it once
 * the next generation is served. The cover has a region and a file whose texts nothing else has.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { idsOnDisk } from '#lib/generations/generations.ts';
import { ONLY_CURRENT, prune } from '#lib/generations/prune.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { type Reply, ROOT } from '#test/support/product.ts';
import { filesOf, pullFromApi, startApi } from '#test/support/replicas.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const MARK = 'atlantis-mark';

const origin = await startApi(seededCatalogue({ games: 60, seed: 4, platforms: 3 }));
const { json } = await get('/covers/recent');
const [cover] = json.data;
await origin.publish(`UPDATE covers SET region = '${MARK}' WHERE id = ${cover.id}`);
await origin.publish(`UPDATE cover_files SET path = '${MARK}.png' WHERE cover_id = ${cover.id}`);

function get(target: string, headers: Readonly<Record<string, string>> = {}): Promise<Reply> {
  return origin.proxy.get(target, origin.key, headers);
}

function bodyOf({ headers, bytes }: Reply): Buffer {
  const coding = headers['content-encoding'];
  if (coding === 'gzip') return gunzipSync(bytes);
  return coding === 'br' ? brotliDecompressSync(bytes) : bytes;
}

/** For each path of the contract, the targets that show the cover, or could. */
function targetsOf(files: readonly string[], since: string): Record<string, string[]> {
  const { slug, title, platform } = cover.game;
  const game = `/games/${platform.slug}/${slug}`;
  const list = `/platforms/${platform.slug}/games?per_page=100`;
  return {
    '/platforms': ['/platforms'],
    '/platforms/{slug}': [`/platforms/${platform.slug}`],
    '/platforms/{slug}/games': [list, `${list}&include=covers`, `${list}&include=cover`],
    '/platforms/{slug}/covers': [`/platforms/${platform.slug}/covers?per_page=100`],
    '/games': [
      `/games?slugs=${platform.slug}/${slug}&include=covers`,
      `/games?slugs=${platform.slug}/${slug}&include=cover&prefer=${MARK}`,
    ],
    '/games/{platformSlug}/{gameSlug}': [game, `${game}?include=covers`, `${game}?include=cover`],
    '/games/{platformSlug}/{gameSlug}/covers': [`${game}/covers`],
    '/covers': [`/covers?ids=${cover.id}`],
    '/covers/{coverId}': [`/covers/${cover.id}`],
    '/covers/recent': ['/covers/recent'],
    '/search': [
      `/search?region=${MARK}&include=covers`,
      `/search?platform=${platform.slug}&include=covers&per_page=100`,
    ],
    '/match': [
      `/match?platform=${platform.slug}&names=${encodeURIComponent(title)}&include=covers`,
    ],
    '/stats': ['/stats'],
    '/changes': [`/changes?since=${since}&per_page=100`],
    '/snapshot': ['/snapshot'],
    '/snapshot/archive': ['/snapshot/archive'],
    '/snapshot/files/{path}': files.map((file) => `/snapshot/files/${file}`),
  };
}

test('nothing returns a cover that was taken down, whatever a client asks and sends', async () => {
  const manifest = (await get('/snapshot')).json;
  const before: string = manifest.id;
  const files: string[] = manifest.files.map((file: { path: string }) => file.path);
  const targets = targetsOf(files, before);
  const { paths } = load(readFileSync(path.join(ROOT, 'openapi.yaml'), 'utf8')) as {
    paths: Record<string, unknown>;
  };
  expect(Object.keys(targets).toSorted()).toEqual(Object.keys(paths).toSorted());

  const codings = ['identity', 'gzip', 'br'];
  const etags = new Map<string, string[]>();
  const showing = new Set<string>();
  const shown = new Set<string>();
  for (const [template, each] of Object.entries(targets)) {
    for (const target of each) {
      const replies = await Promise.all(
        codings.map((coding) => get(target, { 'accept-encoding': coding })),
      );
      etags.set(target, [...new Set(replies.map(({ headers }) => headers.etag ?? ''))]);
      if (!replies.some((reply) => bodyOf(reply).includes(MARK))) continue;
      showing.add(template);
      shown.add(target);
    }
  }
  // Without these, the test would prove nothing.
  expect([...showing].toSorted()).toEqual(
    [
      ...['/covers', '/covers/recent', '/covers/{coverId}', '/games', '/match'],
      ...['/games/{platformSlug}/{gameSlug}', '/games/{platformSlug}/{gameSlug}/covers'],
      ...['/platforms/{slug}/covers', '/platforms/{slug}/games', '/search'],
      ...['/snapshot/archive', '/snapshot/files/{path}', '/stats'],
    ].toSorted(),
  );

  const replica = newSnapshots();
  expect(await pullFromApi(origin, replica)).toMatchObject({ code: 0 });
  const after = await origin.publish(
    `UPDATE covers SET status = 'rejected' WHERE id = ${cover.id}`,
  );
  let requests = 0;
  for (const each of Object.values(targets)) {
    for (const target of each) {
      const known = etags.get(target) ?? [];
      const all = codings.flatMap((coding) =>
        [
          {},
          { 'x-snapshot': before },
          { 'x-snapshot': after },
          { 'if-none-match': known.join(', ') },
          { 'x-snapshot': before, 'if-none-match': known.join(', ') },
          { range: 'bytes=0-', 'if-range': known[0] ?? '""' },
          { range: 'bytes=1-', 'x-snapshot': before },
          { 'cache-control': 'only-if-cached', 'available-dictionary': ':AAAA:' },
        ].map((headers) => ({ 'accept-encoding': coding, ...headers })),
      );
      const replies = await Promise.all(all.map((headers) => get(target, headers)));
      for (const [i, reply] of replies.entries()) {
        const what = `${target} ${JSON.stringify(all[i])} ${reply.status}`;
        requests++;
        // A 400 repeats what the client sent: the mark, which is no longer a region.
        if (reply.status !== 400) expect(bodyOf(reply).includes(MARK), what).toBe(false);
        if (reply.status !== 412) expect(reply.headers['x-snapshot'] ?? after, what).toBe(after);
        const { 'x-snapshot': expected } = all[i] as Readonly<Record<string, string>>;
        if (expected === before) expect(reply.status, what).toBe(412);
        // It would say that what the client has is still right.
        if (shown.has(target)) expect(reply.status, what).not.toBe(304);
      }
    }
  }
  expect(requests).toBe(24 * Object.values(targets).flat().length);
  expect((await get(`/covers/${cover.id}`)).status).toBe(404);

  // On disk, it stays only in the generations that are kept for a rollback.
  expect(idsOnDisk(origin.snapshotsDir)).toContain(before);
  await prune(origin.snapshotsDir, ONLY_CURRENT);
  expect(idsOnDisk(origin.snapshotsDir)).toEqual([after]);
  const contains = (dir: string, id: string) =>
    [...filesOf(dir, id).values()].some((content) => content.includes(MARK));
  expect(contains(origin.snapshotsDir, after)).toBe(false);

  // A replica that had it is without it after its next run.
  expect(contains(replica, before)).toBe(true);
  expect(await pullFromApi(origin, replica)).toMatchObject({ code: 0 });
  expect(contains(replica, after)).toBe(false);
  expect(idsOnDisk(replica)).toEqual([after]);
}, 120_000);
