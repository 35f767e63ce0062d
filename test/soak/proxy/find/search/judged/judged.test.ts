/** How well search answers the judged queries, through a real proxy. README.md describes their files. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { sharedCatalogue } from '#test/catalogue/shared.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { send, startProxy, testKey } from '#test/support/product.ts';

interface JudgedQuery {
  readonly q: string;
  /** `<platform slug>/<game slug>` of the games of which any counts as found. */
  readonly wanted: readonly string[];
}

/** @returns the queries of both halves */
function readQueries(catalogue: string): JudgedQuery[] {
  return ['tuning', 'held-out'].flatMap((half) => {
    const text = readFileSync(path.join(import.meta.dirname, `${catalogue}.${half}.txt`), 'utf8');
    const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('= '));
    return lines.map((line) => {
      const separator = line.lastIndexOf(' | ');
      return { q: line.slice(0, separator), wanted: line.slice(separator + 3).split(' ') };
    });
  });
}

test.for([
  { name: 'sample', makeCatalogue: sampleCatalogue, least: 0.95 },
  { name: 'real', makeCatalogue: sharedCatalogue, least: 0.85 },
])(
  'at least $least of the queries of the $name catalogue have a wanted game among the first five',
  async ({ name, makeCatalogue, least }, { skip }) => {
    const catalogue = makeCatalogue();
    if (catalogue === undefined) return skip('The real catalogue is not on this machine.');
    const key = testKey(1);
    const proxy = await startProxy(await makeSnapshots(catalogue, [key]));
    const queries = readQueries(name);
    let successes = 0;
    try {
      for (const { q, wanted } of queries) {
        const parameters = new URLSearchParams({ q, sort: 'relevance', per_page: '5' });
        const { status, json } = await send(`${proxy.url}/api/v1/search?${parameters}`, {
          headers: { 'x-api-key': key.key },
        });
        expect(status, q).toBe(200);
        const found = json.data.map(
          (game: { slug: string; platform: { slug: string } }) =>
            `${game.platform.slug}/${game.slug}`,
        );
        if (wanted.some((game) => found.includes(game))) successes++;
      }
    } finally {
      await proxy.stop();
    }
    expect(queries.length).toBeGreaterThanOrEqual(200);
    expect(successes / queries.length).toBeGreaterThanOrEqual(least);
  },
);
