/**
 * The requests that wait for the store, grouped by their windows: a row for each window. A row becomes
 * a few arguments of the script, and its reply is divided among its requests in the order in which they
 * came.
 */
import type { Quota } from '../rolling-window.ts';
import { windowKey } from './scripts.ts';

/** A window as this process knows it. It contains the requests that this process admitted. */
export interface FleetWindow {
  /** The name of the window in the whole fleet. */
  readonly name: string;
  /** Counts a request in the window of this process, if fewer than `limit` count. */
  admit(limit: number, now: number): Quota;
  peek(limit: number, now: number): Quota;
  /** Counts a request that the store admitted. */
  record(now: number): void;
}

/** What is asked for one request. */
export interface Question {
  readonly window: FleetWindow;
  readonly limit: number;
  /** Whether the request must not be counted. */
  readonly isPeek: boolean;
  /** The request is counted only if this window would admit one, too. */
  readonly guard?: { readonly window: FleetWindow; readonly limit: number } | undefined;
  /**
   * @param quota undefined if the store cannot be asked and nothing is admitted without it
   * @param isGuarded whether the guard refused; the quota is then the guard's
   */
  readonly done: (quota: Quota | undefined, isGuarded: boolean) => void;
}

interface Row {
  readonly window: FleetWindow;
  limit: number;
  /** How many of its requests are to be counted. */
  count: number;
  readonly questions: Question[];
  readonly guard: { readonly row: number; readonly ahead: number } | undefined;
}

export interface WaitingRows {
  add(question: Question): void;
  /** How many requests wait. */
  size(): number;
  questions(): Iterable<Question>;
  keys(epoch: string): string[];
  args(): number[];
  /**
   * Answers all requests, and counts those that were admitted in the windows of this process.
   * @param reply the reply of the script, without the time
   */
  answer(reply: readonly unknown[], now: number): void;
}

const NUMBERS_PER_ROW = 3;

export function makeWaitingRows(): WaitingRows {
  const rows: Row[] = [];
  const indexes = new Map<string, number>();
  let size = 0;

  function rowOf(window: FleetWindow, limit: number): number {
    let index = indexes.get(window.name);
    if (index === undefined) {
      index = rows.push({ window, limit, count: 0, questions: [], guard: undefined }) - 1;
      indexes.set(window.name, index);
    }
    rows[index].limit = limit;
    return index;
  }

  return {
    size: () => size,
    add(question) {
      const { window, limit, isPeek, guard } = question;
      size++;
      if (guard === undefined) {
        const row = rows[rowOf(window, limit)];
        row.questions.push(question);
        if (!isPeek) row.count++;
        return;
      }
      const row = rowOf(guard.window, guard.limit);
      // The requests of the guard that came before this one may use up what it has left.
      const ahead = rows[row].count;
      rows.push({ window, limit, count: 1, questions: [question], guard: { row, ahead } });
    },
    *questions() {
      for (const row of rows) yield* row.questions;
    },
    keys: (epoch) => rows.map(({ window }) => windowKey(epoch, window.name)),
    args: () =>
      rows.flatMap(({ limit, count, guard }) =>
        guard === undefined ? [limit, count, 0, 0] : [limit, count, guard.row + 1, guard.ahead],
      ),
    answer(reply, now) {
      const results = rows.map((_, index) => {
        const at = index * NUMBERS_PER_ROW;
        const [admitted, counted, waitUs] = [reply[at], reply[at + 1], reply[at + 2]].map(Number);
        return { admitted, before: counted - admitted, resetSeconds: Math.ceil(waitUs / 1e6) };
      });
      for (const [index, { window, limit, questions, guard }] of rows.entries()) {
        const { admitted, before, resetSeconds } = results[index];
        if (guard !== undefined) {
          const guarding = results[guard.row];
          const most = rows[guard.row].limit;
          if (guarding.before + guard.ahead >= most) {
            const resetIn = Math.max(1, guarding.resetSeconds);
            const quota = { admitted: false, limit: most, remaining: 0, resetSeconds: resetIn };
            for (const { done } of questions) done(quota, true);
            continue;
          }
        }
        let counted = 0;
        for (const { isPeek, done } of questions) {
          const isAdmitted = isPeek ? before + counted < limit : counted < admitted;
          if (isAdmitted && !isPeek) {
            counted++;
            window.record(now);
          }
          const remaining = Math.max(0, limit - before - counted);
          done({ admitted: isAdmitted, limit, remaining, resetSeconds }, false);
        }
      }
    },
  };
}
