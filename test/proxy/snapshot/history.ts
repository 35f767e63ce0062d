/** Generations of a catalogue in which everything changes, what each holds, and the lists of changes between them. */

import { closeSync, copyFileSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { checkFind } from '#find/check.ts';
import type { Writer } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { findGame } from '#lib/format/index/record-index.ts';
import { titlesOf } from '#lib/format/index/titles.ts';
import { PLATFORMS } from '#lib/format/layout.ts';
import { openCompared } from '#lib/generations/compare.ts';
import { currentId, generationDir, idsOnDisk } from '#lib/generations/generations.ts';
import { rollbackTo } from '#lib/generations/rollback.ts';
import { makeGeneration } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { makeChanges } from '#test/generator/reuse/random-changes.ts';
import { loadTimed } from '#test/generator/reuse/runs.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { generate } from '#test/support/product.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

/** The record of each path. */
type State = ReadonlyMap<string, string>;

/** An element of a list of changes. Ids are text here, because some exceed 2^53. */
interface ListedChange {
  readonly change: string;
  readonly kind: string;
  readonly id: string;
  readonly path: string;
}

function readState(snapshotsDir: string, id: string): State {
  const dir = generationDir(snapshotsDir, id);
  const { index, titles } = openCompared(dir);
  const state = new Map<string, string>();
  const lines = (name: string) =>
    readFileSync(path.join(dir, name), 'utf8')
      .split('\n')
      .filter((line) => /^\{"(?:id|slug)":/.test(line))
      .map((line) => line.replace(/,$/, ''));
  for (const platform of lines(PLATFORMS)) {
    const { slug } = JSON.parse(platform);
    state.set(`/platforms/${slug}`, platform);
    for (const game of lines(`games/${slug}.json`)) {
      const at = `/games/${slug}/${JSON.parse(game).slug}`;
      const platformNumber = index.platformBySlug.get(slug) as number;
      const number = findGame(index, platformNumber, JSON.parse(game).slug) as number;
      // Alternative titles are part of a game.
      state.set(at, game + Buffer.from(titlesOf(titles, number) ?? '').toString());
    }
    for (const cover of lines(`covers/${slug}.json`)) {
      state.set(`/covers/${idOf('cover', cover)}`, cover);
    }
  }
  return state;
}

/** The id of a record, as in a list of changes. */
function idOf(kind: string, record: string): string {
  if (kind === 'platform') return JSON.parse(record).slug;
  return /^\{"id":(\d+)/.exec(record)?.[1] ?? '';
}

/** The elements of a body, with exact ids. */
function parseElements(body: string): ListedChange[] {
  const { data } = JSON.parse(body.replaceAll(/"id":(\d+)/g, '"id":"$1"'));
  return data;
}

const KINDS = ['platform', 'game', 'cover'];
const ORDER = ['removed', 'changed', 'added'];

/**
 * Checks that a list of changes leads from one state to another, in the promised order, and has no other records
 * than those that differ, or differed in between.
 */
function expectRight(changes: readonly ListedChange[], states: readonly State[], what: string) {
  const [from, to] = [states[0] as State, states.at(-1) as State];
  const state = new Map(from);
  // As the contract says: removals first, because another record may have taken the path.
  for (const { change, path: gone } of changes) if (change === 'removed') state.delete(gone);
  for (const { change, path: come } of changes) {
    if (change !== 'removed') state.set(come, to.get(come) ?? 'not there');
  }
  expect([...state].toSorted(), what).toEqual([...to].toSorted());
  const wrong = changes.filter(({ change, kind, id, path: at }) => {
    const [before, after] = [from.get(at), to.get(at)];
    const holder = change === 'removed' ? before : after;
    if (holder === undefined || idOf(kind, holder) !== id) return true;
    const isSameRecord = before !== undefined && after !== undefined && idOf(kind, before) === id;
    if (change === 'changed') {
      const hasDiffered = states.some((each) => each.get(at) !== after);
      return !isSameRecord || idOf(kind, after) !== id || !hasDiffered;
    }
    // The path may have passed from one record to another.
    const other = change === 'removed' ? after : before;
    return other !== undefined && idOf(kind, other) === id;
  });
  expect(wrong, what).toEqual([]);
  // Ids are numbers, except those of platforms.
  const order = changes.map(({ kind, id, change }) => {
    const key = kind === 'platform' ? id : id.padStart(20, '0');
    return [KINDS.indexOf(kind), key, ORDER.indexOf(change)].join(' ');
  });
  expect(order, what).toEqual(order.toSorted());
  expect(new Set(order).size, what).toBe(order.length);
}

/** Few, so that they are used again. */
const PLATFORM_SLUGS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'];

export type History = Awaited<ReturnType<typeof makeHistory>>;

/**
 * A catalogue, and a folder of its generations.
 * @param generations how many there are: most follow from random changes, others are rollbacks, or come from an
 * older copy of the database, as after it was restored
 */
export async function makeHistory(seed: number, generations = 6) {
  const random = makeRandom(seed);
  const url = await makeDatabase('sqlite');
  const file = url.slice('sqlite:'.length);
  let database = await openDatabase(url);
  atEndOfFile(() => database.close());
  await loadTimed(database, 30, { platforms: 4, hugeIds: true });
  const { change } = makeChanges(random);
  const dir = newSnapshots();
  const copies: string[] = [];
  const states = new Map<string, State>();
  const rollback = async () => {
    const ids = idsOnDisk(dir).filter((id) => id !== currentId(dir));
    const keep = { generations: 5, days: 0 };
    await rollbackTo(dir, random.pick(ids), { withTakenDown: true, warn() {}, checkFind, keep });
  };
  const restore = async () => {
    await database.close();
    copyFileSync(random.pick(copies), file);
    database = await openDatabase(url);
  };
  const history = {
    dir,
    url,
    random,
    /** What the generations hold that were current, in their order. */
    states,
    /** Changes rows of every table. */
    async change() {
      await change(database);
      if (random.happens(0.2)) await changePlatforms(database, random);
    },
    /** Reads the current generation. @returns whether it is another one than before */
    note(): boolean {
      const id = currentId(dir) as string;
      const isNew = !states.has(id);
      if (isNew) states.set(id, readState(dir, id));
      return isNew;
    },
    /** Publishes a generation that differs, or not, and reads it. */
    async next() {
      const isRollback = states.size > 1 && random.happens(0.2);
      if (isRollback) await rollback();
      else {
        if (copies.length > 0 && random.happens(0.15)) await restore();
        else await history.change();
        await generate(url, dir, ['--force', ...(random.happens(0.1) ? ['--full'] : [])]);
      }
      history.note();
      if (!random.happens(0.2)) return;
      copies.push(`${file}.${copies.length}`);
      await database.run('VACUUM INTO ?', [copies.at(-1) as string]);
    },
  };
  while (states.size < generations) await history.next();
  return history;
}

/** Adds, renames or removes a platform, or exchanges the ids of two games. */
async function changePlatforms({ run, rows }: Writer, random: Random): Promise<void> {
  const slug = random.pick(PLATFORM_SLUGS);
  const anyOf = async (table: string) => {
    const all = await rows(`SELECT id FROM ${table} ORDER BY id`);
    return random.pick(all)?.[0] ?? null;
  };
  const change = random.pick([
    () => run('INSERT OR IGNORE INTO platforms (slug, name) VALUES (?, ?)', [slug, slug]),
    async () => {
      const sql = 'UPDATE OR IGNORE platforms SET slug = ?, name = ? WHERE id = ?';
      await run(sql, [slug, slug, await anyOf('platforms')]);
    },
    // Its games go to another one.
    async () => {
      const isOneOfMany = 'id = ? AND (SELECT COUNT(*) FROM platforms) > 2';
      await run(`DELETE FROM platforms WHERE ${isOneOfMany}`, [await anyOf('platforms')]);
      const left = 'platform_id NOT IN (SELECT id FROM platforms)';
      await run(`UPDATE games SET platform_id = ? WHERE ${left}`, [await anyOf('platforms')]);
    },
    async () => {
      const [a, b] = [await anyOf('games'), await anyOf('games')];
      for (const [to, from] of [
        [-1, a],
        [a, b],
        [b, -1],
      ]) {
        await run('UPDATE games SET id = ? WHERE id = ?', [to, from]);
      }
    },
  ]);
  await change();
}

/**
 * Checks the lists from the last generations to the current one.
 * @returns how many lists there are, how many changes they have, and how many of these are no difference
 */
export function expectListsRight({ dir, states }: History, last = Number.POSITIVE_INFINITY) {
  const figures = { lists: 0, changes: 0, changedBack: 0 };
  const to = currentId(dir) as string;
  const files = openFiles({ dir: generationDir(dir, to), id: to });
  const { changesSince } = makeGeneration(files);
  const ids = [...states.keys()].slice(-last);
  for (const [at, from] of ids.entries()) {
    const list = changesSince(from, 0, 1e6);
    if (list === undefined) throw new Error(`There is no list from ${from} to ${to}.`);
    const changes = parseElements(`{"data":[${list.elements}]}`);
    const between = ids.slice(at).map((id) => states.get(id) as State);
    expectRight(changes, between, `${from} to ${to}`);
    expect(list.total).toBe(changes.length);
    figures.lists++;
    figures.changes += list.total;
    const isEqual = ({ path: at }: ListedChange) => between[0]?.get(at) === between.at(-1)?.get(at);
    figures.changedBack += changes.filter(isEqual).length;
  }
  files.descriptors.forEach(closeSync);
  return figures;
}
