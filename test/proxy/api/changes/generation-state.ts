/**
 * What a generation holds, read from its packs, and what a client holds that applies a list of changes:
 * the tests compare the two.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect } from 'vitest';
import { PLATFORMS } from '#lib/format/layout.ts';
import { generationDir } from '#lib/generations/generations.ts';

/** The record of each path. */
export type State = ReadonlyMap<string, string>;

/** An element of a list of changes. Ids are text here, because some exceed 2^53. */
interface ListedChange {
  readonly change: string;
  readonly kind: string;
  readonly id: string;
  readonly path: string;
}

export function readState(snapshotsDir: string, id: string): State {
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
export function parseElements(body: string): ListedChange[] {
  const { data } = JSON.parse(body.replaceAll(/"id":(\d+)/g, '"id":"$1"'));
  return data;
}

const KINDS = ['platform', 'game', 'cover'];
const CHANGES = ['removed', 'changed', 'added'];

/** Checks that a list of changes leads exactly from one state to another, in the promised order. */
export function expectExact(
  changes: readonly ListedChange[],
  from: State,
  to: State,
  what: string,
): void {
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
    return [KINDS.indexOf(kind), key, CHANGES.indexOf(change)].join(' ');
  });
  expect(order, what).toEqual(order.toSorted());
}
