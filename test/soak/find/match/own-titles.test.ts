/**
 * Each title as the name of its own file finds its game, or lists it, in the real catalogue if this machine
 * has it, and in the seeded one otherwise; a tag at the end of the name changes nothing.
 */
import { expect, test } from 'vitest';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { printFigure } from '#test/soak/rounds.ts';
import { wholeCatalogue } from '#test/soak/support/whole-catalogue.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';

/** The seeded catalogue has titles that no file has, such as those of dots and brackets only. */
const SHARE = { real: 0.999, seeded: 0.99 };
const key = { ...testKey(1), limit: 1_000_000 };

// Of 150,000 seeded games, more than four have the same title.
const { catalogue, kind } = wholeCatalogue({ full: 10_000, quick: 10_000 });
const proxy = await startProxy(await makeSnapshots(catalogue, [key]), {}, NEVER);

interface Item {
  readonly game: { readonly id: number } | null;
  readonly candidates: readonly { readonly game: { readonly id: number } }[];
}

async function match(platform: string, names: readonly string[]): Promise<Item[]> {
  const list = names.map(encodeURIComponent).join('/');
  const { status, json } = await proxy.get(`/match?platform=${platform}&names=${list}`, key.key);
  expect(status).toBe(200);
  return json.data;
}

test('nearly all titles find or list their own game, and a tag changes nothing', async () => {
  const slugs = new Map([...catalogue.platforms].map(([id, slug]) => [id, String(slug)]));
  let [found, listed, total] = [0, 0, 0];
  for (const [platform, games] of Map.groupBy(catalogue.games, ([, id]) => id)) {
    const slug = slugs.get(platform) ?? '';
    for (let from = 0; from < games.length; from += 10) {
      const some = games.slice(from, from + 10);
      // A file system allows no slash, and at most 255 characters.
      const names = some.map(([, , , title]) => String(title).replaceAll('/', '_').slice(0, 200));
      const items = await match(slug, names);
      const tagged = await match(
        slug,
        // Without a region, which may choose another of several games of one title.
        names.map((name) => `${name} (Rev 1) [!].zip`),
      );
      for (const [at, [id]] of some.entries()) {
        const { game, candidates } = items[at];
        const isFound = String(game?.id) === String(id);
        if (isFound) found++;
        else if (candidates.some((candidate) => String(candidate.game.id) === String(id))) listed++;
        total++;
        if (isFound && candidates.length === 0) expect(tagged[at].game, names[at]).toEqual(game);
      }
    }
  }
  printFigure('Own titles', `${found} found, ${listed} listed of ${total}`);
  expect((found + listed) / total).toBeGreaterThan(SHARE[kind]);
});
