/** The page "Match my files" in a real browser: with scripts and without, and what leaves the browser. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { describe, expect, test } from 'vitest';
import { visitExplorer } from '#test/site/explore/visited-explorer.ts';
import { keepScreenshot, look } from '#test/support/browser.ts';
import { makeFolder, testKey } from '#test/support/product.ts';

const explorerKey = testKey(1);
const explorer = await visitExplorer([explorerKey], explorerKey.key);

const NAMES = [
  'Chrono Trigger (USA).sfc',
  'Legend of Zelda, The - A Link to the Past (E) [!].zip',
  '=<b>Unheard "Of".sfc',
];
const rows = (page: Page) => page.locator('#matches > tr');
const found = (page: Page) => page.locator('#found');

async function openForm(page: Page, names: readonly string[]): Promise<void> {
  await page.goto(`${explorer.url}/match`);
  await page.getByLabel('Platform').selectOption('snes');
  await page.getByLabel('Names of files').fill(names.join('\n'));
}

describe.each([true, false])('with scripts: %s', (javaScriptEnabled) => {
  test('pasted names give covers, games and misses', async () => {
    const page = await explorer.open({ javaScriptEnabled });
    await openForm(page, NAMES);
    await page.getByRole('button', { name: 'Match' }).click();
    await rows(page).nth(2).waitFor();
    const texts = (await rows(page).allTextContents()).map((text) => text.replace(/\s+/g, ' '));
    expect(texts[0]).toContain('Chrono Trigger (USA).sfc Chrono Trigger (1995) same title');
    expect(texts[1]).toContain('A Link to the Past');
    expect(texts[2]).toContain('=<b>Unheard "Of".sfc not found');
    expect(await rows(page).first().locator('img').getAttribute('src')).toContain('/50219-');
    expect(await found(page).textContent()).toMatch(/2 .*games found|2 games found/);
    if (javaScriptEnabled) await look(page);
    await keepScreenshot(page, `match-${javaScriptEnabled}`, true);
    await rows(page).first().getByRole('link').first().click();
    await page.waitForURL('**/explore/snes/chrono-trigger');
    explorer.expectQuiet();
  });
});

test('a chosen folder gives its names, nothing else leaves the browser', async () => {
  const folder = path.join(makeFolder(), 'roms');
  mkdirSync(path.join(folder, 'more'), { recursive: true });
  for (const name of ['Chrono Trigger (USA).sfc', 'more/F-Zero (Japan).sfc', '.hidden']) {
    writeFileSync(path.join(folder, name), 'the content of the file');
  }
  const page = await explorer.open();
  const bodies: (string | null)[] = [];
  page.on('request', (request) => bodies.push(request.postData()));
  await openForm(page, []);
  await page.getByLabel('Choose a folder').setInputFiles(folder);
  const names = page.getByLabel('Names of files');
  expect(await names.inputValue()).toBe('Chrono Trigger (USA).sfc\nF-Zero (Japan).sfc');
  await page.getByRole('button', { name: 'Match' }).click();
  await rows(page).nth(1).waitFor();
  expect(new Set(bodies)).toEqual(new Set([null]));
  expect(new URL(page.url()).search).toBe('');
  explorer.expectQuiet();
});

test('a candidate is chosen, what is not found leads to a search and its near spellings, and a script downloads the fronts', async () => {
  const page = await explorer.open();
  await openForm(page, [
    'The Legend of Zelda.sfc',
    'Chrono Trigger (USA).sfc',
    'Mega.sfc',
    'Final Fanatsy.sfc',
  ]);
  await page.getByRole('button', { name: 'Match' }).click();
  await found(page).filter({ hasText: '4 of 4 names read, 1 game found' }).waitFor();
  await rows(page).nth(2).getByRole('link', { name: 'Search for it' }).waitFor();
  await rows(page).nth(3).getByRole('button', { name: 'Choose Final Fantasy' }).first().waitFor();
  await rows(page).first().getByRole('button', { name: 'Choose The Legend of Zelda' }).click();
  expect(await rows(page).first().textContent()).toMatch(/A Link to the Past.*chosen by you/s);
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download fronts with curl' }).click(),
  ]);
  const file = path.join(makeFolder(), 'covers.sh');
  await download.saveAs(file);
  const script = readFileSync(file, 'utf8');
  const line = (name: string) => `curl -sS --create-dirs -o 'covers/${name}.svg' 'http://`;
  expect(script.split('\n')).toEqual([
    '#!/bin/sh',
    expect.stringContaining(line('The Legend of Zelda')),
    expect.stringContaining(line('Chrono Trigger (USA)')),
    '',
  ]);
  explorer.expectQuiet();
});

test('a list of any length is matched in parts, and copied as JSON and as CSV', async () => {
  const page = await explorer.open({ permissions: ['clipboard-read', 'clipboard-write'] });
  await openForm(
    page,
    Array.from({ length: 120 }, (_, i) => NAMES[i % 3] ?? ''),
  );
  await page.getByRole('button', { name: 'Match' }).click();
  await found(page).filter({ hasText: '120 of 120 names read, 80 games found' }).waitFor();
  expect(await rows(page).count()).toBe(120);
  const copied = async (name: string): Promise<string> => {
    await page.getByRole('button', { name }).click();
    await found(page).filter({ hasText: 'Copied 120 results' }).waitFor();
    return page.evaluate('navigator.clipboard.readText()');
  };
  const [chrono, , missing] = JSON.parse(await copied('Copy as JSON'));
  expect(chrono).toMatchObject({
    name: NAMES[0],
    match: 'exact',
    platform: 'snes',
    slug: 'chrono-trigger',
  });
  expect(missing).toMatchObject({ name: NAMES[2], match: null, slug: null, cover: null });
  const lines = (await copied('Copy as CSV')).split('\r\n');
  expect(lines).toHaveLength(122);
  expect(lines[0]).toBe('"name","match","platform","slug","title","cover","candidates"');
  // As text, which a spreadsheet does not calculate.
  expect(lines[3]).toBe(`"'=<b>Unheard ""Of"".sfc","","","","","",""`);
  explorer.expectQuiet();
});
