/** How well search answers the judged queries, through a real proxy. README.md describes their files. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { sharedCatalogue } from '#test/catalogue/shared.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { printFigure } from '#test/soak/rounds.ts';
import { type OwnProxy, startProxy, testKey } from '#test/support/product.ts';

interface JudgedQuery {
  readonly q: string;
  /** `<platform slug>/<game slug>` of the games of which any counts as found. */
  readonly wanted: readonly string[];
}

type Half = 'tuning' | 'held-out';

function readQueries(catalogue: string, half: Half): JudgedQuery[] {
  const text = readFileSync(path.join(import.meta.dirname, `${catalogue}.${half}.txt`), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('= '));
  return lines.map((line) => {
    const separator = line.lastIndexOf(' | ');
    return { q: line.slice(0, separator), wanted: line.slice(separator + 3).split(' ') };
  });
}

describe.each([
  { name: 'sample', makeCatalogue: sampleCatalogue, least: 0.95 },
  { name: 'real', makeCatalogue: sharedCatalogue, least: 0.85 },
])('of the $name catalogue', ({ name, makeCatalogue, least }) => {
  const key = testKey(1);
  let proxy: OwnProxy | undefined;

  beforeAll(async () => {
    const catalogue = makeCatalogue();
    if (catalogue !== undefined) proxy = await startProxy(await makeSnapshots(catalogue, [key]));
  });

  test.for<Half>(['tuning', 'held-out'])(
    `at least ${least} of the queries in %s have a wanted game among the first five`,
    async (half, { skip }) => {
      if (proxy === undefined) return skip('The real catalogue is not on this machine.');
      const queries = readQueries(name, half);
      let successes = 0;
      for (const { q, wanted } of queries) {
        const parameters = new URLSearchParams({ q, sort: 'relevance', per_page: '5' });
        const { status, json } = await proxy.get(`/search?${parameters}`, key.key);
        expect(status, q).toBe(200);
        const found = json.data.map(
          (game: { slug: string; platform: { slug: string } }) =>
            `${game.platform.slug}/${game.slug}`,
        );
        if (wanted.some((game) => found.includes(game))) successes++;
      }
      printFigure(`Judged queries, ${name}, ${half}`, `${successes} of ${queries.length} answered`);
      expect(queries.length).toBeGreaterThanOrEqual(200);
      expect(successes / queries.length).toBeGreaterThanOrEqual(least);
    },
  );
});
