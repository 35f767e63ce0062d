/**
 * Loads `search.json` as other programs do, with MiniSearch itself, and searches it for one title. The
 * other checks of a generation compare its bytes and never load it.
 */
import { closeSync, openSync, readFileSync, readSync } from 'node:fs';
import path from 'node:path';
import MiniSearch from 'minisearch';
import { MINISEARCH_OPTIONS } from '../format/index/minisearch-options.ts';
import type { RecordIndex } from '../format/index/record-index.ts';
import { wordsOf } from '../format/index/words.ts';
import { gamesPack, MINISEARCH } from '../format/layout.ts';

/** @throws Error that names the file and its fault */
export function verifySearch(dir: string, index: RecordIndex): void {
  const games = index.games.byteLength.length;
  const search = load(path.join(dir, MINISEARCH));
  if (search.documentCount !== games) {
    throw new Error(`${MINISEARCH} has ${search.documentCount} games, but the index has ${games}.`);
  }
  const game = firstWithWords(dir, index);
  if (game === undefined) return;
  const found = search.search(game.title, { combineWith: 'AND' });
  if (!found.some(({ id }) => id === game.path)) {
    throw new Error(`MiniSearch does not find /games/${game.path} by its title in ${MINISEARCH}.`);
  }
}

function load(file: string): MiniSearch {
  try {
    return MiniSearch.loadJSON(readFileSync(file, 'utf8'), MINISEARCH_OPTIONS);
  } catch (cause) {
    const { message } = cause as Error;
    throw new Error(`MiniSearch cannot load ${MINISEARCH}: ${message}`, { cause });
  }
}

/** The first game whose title has a word: a title without one is not searched. */
function firstWithWords(dir: string, { platforms, games }: RecordIndex) {
  for (const { slug, first_game, games: count } of platforms) {
    const pack = openSync(path.join(dir, gamesPack(slug)), 'r');
    try {
      for (let game = first_game; game < first_game + count; game++) {
        const bytes = Buffer.alloc(games.byteLength[game]);
        readSync(pack, bytes, 0, bytes.length, games.byteOffset[game]);
        const record: { readonly slug: string; readonly title: string } = JSON.parse(`${bytes}`);
        if (wordsOf(record.title).length > 0) {
          return { path: `${slug}/${record.slug}`, title: record.title };
        }
      }
    } finally {
      closeSync(pack);
    }
  }
  return undefined;
}
