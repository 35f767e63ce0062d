/** Reads the table of platforms, which is small, into memory. */
import type { Platform } from '../columns/catalogue.ts';
import { makeCollator } from '../order/title-order.ts';
import { RowFault } from '../report/row-fault.ts';
import type { ReadTable } from './read-table.ts';
import * as check from './row-checks.ts';

/**
 * @returns `platforms`, sorted by name, then slug; `numberOf`, the number of each platform by its id;
 * `known`, all ids in the table, including those of platforms that were left out; `asText`, a text of all
 * that
 */
export async function readPlatforms(read: ReadTable) {
  const found: (Platform & { id: string })[] = [];
  const known = new Set<string>();
  const taken = new Set<string>();
  const slugs = new Set<string>();
  await read('platforms', 'id, slug, name', (row, value, note) => {
    check.checkId(value);
    const id = String(value);
    known.add(id);
    const slug = check.checkSlug(row[1]);
    const name = check.checkText(row[2], 'name');
    if (taken.has(id)) throw new RowFault('the id appears twice', value);
    if (slugs.has(slug)) throw new RowFault('the slug appears twice', slug);
    check.noteDamage(name, 'name', note);
    taken.add(id);
    slugs.add(slug);
    found.push({ id, slug, name });
    return undefined;
  });
  const collator = makeCollator();
  found.sort(
    (a, b) =>
      collator.compare(a.name, b.name) || compare(a.name, b.name) || compare(a.slug, b.slug),
  );
  return {
    platforms: found.map(({ slug, name }): Platform => ({ slug, name })),
    numberOf: new Map(found.map(({ id }, number) => [id, number])),
    known,
    /** Everything that other tables and the records take from the platforms. */
    asText: JSON.stringify([found, [...known]]),
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
