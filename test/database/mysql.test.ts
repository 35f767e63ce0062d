/** What is decided about the answers of a server, without one. */
import { EventEmitter } from 'node:events';
import type { PoolConnection } from 'mysql2';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { changeMarkOf } from '../../database/mysql.ts';
import { execute } from '../../database/mysql-statement.ts';

test('the mark of a commit changes once more when it is two seconds old', async () => {
  const markAfter = (secondsAgo: number) =>
    changeMarkOf({ rows: async () => [['t', '2026-01-02 03:04:05', secondsAgo]] }, ['t']);
  const recent = await markAfter(0);
  const old = await markAfter(2);
  expect(old).not.toBe(recent);
  expect([await markAfter(1), await markAfter(100)]).toEqual([recent, old]);
});

describe('a statement whose server sends nothing', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  test('fails after as long as the connection allows, counted from the last byte', async () => {
    const stream = Object.assign(new EventEmitter(), { bytesRead: 0, destroy: vi.fn() });
    const query = new EventEmitter();
    const destroy = vi.fn();
    const connection = Object.assign(new EventEmitter(), { stream, destroy, query: () => query });
    const fault = execute(
      connection as unknown as PoolConnection,
      'SELECT 1',
      [],
      () => {},
      10,
      (e) => e,
    )
      .then(() => undefined)
      .catch((error: Error) => error.message);
    vi.advanceTimersByTime(9_000);
    stream.bytesRead++;
    vi.advanceTimersByTime(10_000);
    expect(destroy).not.toHaveBeenCalled();
    vi.advanceTimersByTime(1_000);
    expect(await fault).toBe('the server has sent nothing for 10 s');
    expect(destroy).toHaveBeenCalledOnce();
    expect(vi.getTimerCount()).toBe(0);
  });
});
