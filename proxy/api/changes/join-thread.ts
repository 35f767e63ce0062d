/**
 * The program of the thread that joins differences into lists of changes, so that no request waits while
 * thousands of files are read. SQLite joins and sorts: in memory, or in a temporary file if a list is long.
 */
import { DatabaseSync } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';
import { LRUCache } from 'lru-cache';
import { type Change, encodeName } from '../../../lib/format/difference-file.ts';
import {
  DifferenceError,
  findChain,
  readDifference,
} from '../../../lib/generations/differences.ts';
import { makeCalls } from '../../../lib/program/calls.ts';
import type { ChangePage, PageOrder } from './changes.ts';

const KEPT_LISTS = 8;

/** For each record whose state one of the differences names: its first and its last state. */
const SCHEMA = `PRAGMA journal_mode = MEMORY; BEGIN;
  CREATE TABLE record (kind, id, path, before, after, PRIMARY KEY (path, id)) WITHOUT ROWID`;
const ADD = `INSERT INTO record VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET after = excluded.after WHERE after IS excluded.before`;
/** By kind and id, of games and covers as numbers, which may exceed 2^63; removals first. */
const SORT = `CREATE TABLE list AS SELECT * FROM record WHERE before IS NOT after
  ORDER BY kind = 'cover', kind = 'game', CASE kind WHEN 'platform' THEN 0 ELSE length(id) END, id,
    after IS NOT NULL; COMMIT`;

/** What the thread does for others. */
export type JoinThread = { readonly readPage: ReturnType<typeof makeLists> };

/** @returns a function that reads a page of a list, which it joins unless it has joined it a short time ago */
export function makeLists(snapshotsDir: string) {
  const close = (list: DatabaseSync) => list.close();
  const lists = new LRUCache<string, DatabaseSync>({ max: KEPT_LISTS, dispose: close });

  /** @returns the page, and which difference is damaged if that is why there is none */
  return ({ from, to, first, count }: PageOrder): { page?: ChangePage; damage?: string } => {
    const name = `${from} ${to}`;
    try {
      const list = lists.get(name) ?? join(snapshotsDir, from, to);
      if (list === undefined) return {};
      lists.set(name, list);
      return { page: pageOf(list, first, count) };
    } catch (error) {
      if (error instanceof DifferenceError) return { damage: error.message };
      throw error;
    }
  };
}

/** @returns undefined if no differences lead from one to the other @throws DifferenceError */
function join(snapshotsDir: string, from: string, to: string): DatabaseSync | undefined {
  const chain = findChain(snapshotsDir, from, to);
  if (chain === undefined) return undefined;
  const list = new DatabaseSync('');
  try {
    list.exec(SCHEMA);
    const add = list.prepare(ADD);
    for (const difference of chain) {
      for (const { kind, id, path, before, after } of readDifference(snapshotsDir, difference)) {
        if (add.run(kind, id, path, before, after).changes === 1) continue;
        throw new DifferenceError(difference, new Error(`it contradicts earlier ones: ${path}`));
      }
    }
    list.exec(SORT);
    return list;
  } catch (error) {
    list.close();
    throw error;
  }
}

function pageOf(list: DatabaseSync, first: number, count: number): ChangePage {
  const total = list.prepare('SELECT coalesce(max(rowid), 0) AS total FROM list').get()?.total;
  const rows = list.prepare('SELECT * FROM list WHERE rowid > ? LIMIT ?').all(first, count);
  const elements = (rows as unknown as Change[]).map((change) => {
    const { before, after } = change;
    const kind = before === null ? 'added' : after === null ? 'removed' : 'changed';
    return `{"change":"${kind}",${encodeName(change)}}`;
  });
  return { total: Number(total), elements };
}

if (parentPort !== null) makeCalls(parentPort, { readPage: makeLists(workerData) });
