/** Generations of a catalogue in which everything changes, what each holds, and which lists lead between them. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { checkFind } from '#find/check.ts';
import type { Writer } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { CHANGES, differenceFile, PLATFORMS } from '#lib/format/layout.ts';
import { listDifferences } from '#lib/generations/differences.ts';
import { currentId, generationDir, idsOnDisk } from '#lib/generations/generations.ts';
import { rollbackTo } from '#lib/generations/rollback.ts';
import { makeLists } from '#proxy/api/changes/lists.ts';
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
      state.set(`/games/${slug}/${JSON.parse(game).slug}`, game);
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

/** Checks that a list of changes leads exactly from one state to another, in the promised order. */
function expectExact(changes: readonly ListedChange[], from: State, to: State, what: string): void {
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
    if (change === 'changed') return !isSameRecord || idOf(kind, after) !== id || before === after;
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
}

/** Few, so that they are used again. */
const PLATFORM_SLUGS = ['alpha', 'beta', 'gamma', 'delta', 'epsilon', 'zeta'];

export type History = Awaited<ReturnType<typeof makeHistory>>;

/** @param generations how many there are; of each six, the fifth is a rollback to the oldest */
export async function makeHistory(seed: number, generations = 6) {
  const random = makeRandom(seed);
  const url = await makeDatabase('sqlite');
  const database = await openDatabase(url);
  atEndOfFile(() => database.close());
  await loadTimed(database, 30, { platforms: 4, hugeIds: true });
  const { change } = makeChanges(random);
  const dir = newSnapshots();
  const states = new Map<string, State>();
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
  };
  while (states.size < generations) {
    if (states.size % 6 === 4) {
      const [oldest] = idsOnDisk(dir) as [string];
      await rollbackTo(dir, oldest, { withTakenDown: true, warn() {}, checkFind });
    } else {
      await history.change();
      await generate(url, dir, ['--force']);
    }
    history.note();
  }
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

/** The file with the difference between a generation and the one before it. */
export function differenceOf({ dir }: Pick<History, 'dir'>, id: string): string {
  const difference = listDifferences(dir).findLast(({ to }) => to === id);
  if (difference === undefined) throw new Error(`There is no difference to ${id}.`);
  return path.join(dir, CHANGES, differenceFile(difference));
}

/** Makes the list of changes between two generations. If there is one, it must be exact. */
export function joinExactly(
  { dir, states }: Pick<History, 'dir' | 'states'>,
  from: string,
  to: string,
) {
  const steps = makeLists(dir)({ from, to, first: 0, count: 1e6 });
  let step = steps.next();
  while (!step.done) step = steps.next();
  const { page, damage } = step.value;
  if (page !== undefined) {
    const list = parseElements(`{"data":[${page.elements}]}`);
    expectExact(list, states.get(from) as State, states.get(to) as State, `${from} to ${to}`);
  }
  return { page, damage };
}

/** Checks the list from each of the last generations to each later one. @returns how many pairs, and changes in them */
export function expectAllExact(history: History, last = Number.POSITIVE_INFINITY) {
  const figures = { pairs: 0, changes: 0 };
  const ids = [...history.states.keys()].slice(-last);
  ids.forEach((to, at) => {
    for (const from of ids.slice(0, at)) {
      const { page } = joinExactly(history, from, to);
      if (page === undefined) throw new Error(`There is no list from ${from} to ${to}.`);
      figures.pairs++;
      figures.changes += page.total;
    }
  });
  return figures;
}
