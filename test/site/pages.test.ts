/** How pages that show the catalogue are made: in pieces, while their generation stays open. */
import { realpathSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { CURRENT } from '#lib/format/layout.ts';
import { html } from '#lib/pages/html.ts';
import { type Generation, makeGeneration } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { endDownloads } from '#proxy/snapshot/stored-files.ts';
import { parseContract, resolveContract } from '#site/docs/contract.ts';
import { makeDocs } from '#site/docs/docs.ts';
import { chooseExamples } from '#site/docs/examples.ts';
import { makePageFinder, makePages } from '#site/pages.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { FRAME } from '#test/support/pages.ts';

const dir = realpathSync(path.join(await makeSampleSnapshots(), CURRENT));
const files = openFiles({ dir, id: path.basename(dir) });
const generation: Generation = makeGeneration(files);

test.each(['/docs/reference', '/docs/first-call', '/docs/pages'])(
  'between two examples of %s, the thread serves other requests',
  async (page) => {
    const facts = { api: 'https://api.covers.example/api/v1', defaultLimit: 120, frame: FRAME };
    const make = makeDocs(resolveContract(parseContract()), facts).pages.get(page);
    let turn = 0;
    let isDone = false;
    const countTurns = () => {
      turn++;
      if (!isDone) setImmediate(countTurns);
    };
    setImmediate(countTurns);
    const turns: number[] = [];
    const responseTo = async () => {
      turns.push(turn);
      return '{}';
    };
    await make?.({ generation, examples: chooseExamples(generation), responseTo });
    isDone = true;
    expect(turns.length).toBeGreaterThan(1);
    expect(new Set(turns).size).toBe(turns.length);
  },
);

test('a generation is closed only after the page that shows it is made', async () => {
  const pages = makePages({ publicUrl: '', defaultLimit: 120, frame: FRAME });
  const find = makePageFinder(pages, { current: () => generation });
  const page = find('/docs/reference');
  expect(endDownloads(files.downloads)).toBe(false);
  await page;
  expect(endDownloads(files.downloads)).toBe(true);
});

test('a page that could not be made is made again when it is next asked for', async () => {
  let fails = true;
  const page = async () => {
    if (fails) throw new Error('a read failed');
    return html`<p>made</p>`;
  };
  const find = makePageFinder(new Map([['/page', page]]), { current: () => undefined });
  await expect(find('/page')).rejects.toThrow('a read failed');
  fails = false;
  const made = await find('/page');
  expect(made?.identity.body.toString()).toContain('made');
  expect(await find('/page')).toBe(made);
});
