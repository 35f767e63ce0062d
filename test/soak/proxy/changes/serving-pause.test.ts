/** Joining a long list does not delay the serving threads: it runs on a separate thread. */
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { expect, test } from 'vitest';
import type { Change } from '../../../../format/difference-file.ts';
import { CHANGES, differenceFile } from '../../../../format/layout.ts';
import { writeDifference } from '../../../../generations/changes/write-difference.ts';
import { makeChangeStore, type PageReply } from '../../../../proxy/changes/change-store.ts';
import { join } from '../../../../proxy/changes/join-worker.ts';
import { makeFolder } from '../../../support/product.ts';

const CHANGED = 400_000;
const PAGES = 200;
const ROUNDS = 3;
const FROM = '000001-0123456789ab';
const TO = '000002-0123456789ab';

function* manyChanges(): Generator<Change> {
  for (let id = 1; id <= CHANGED; id++) {
    const hashes = { before: null, after: '0123456789abcdef' };
    yield { kind: 'cover', id: `${id}`, path: `/covers/${id}`, ...hashes };
  }
}

test(`a list of ${CHANGED} changes is joined and sent without a pause of the serving thread`, async () => {
  const dir = makeFolder();
  mkdirSync(path.join(dir, CHANGES));
  const head = { from: FROM, to: TO, published_at: '2026-11-22T00:00:00Z' };
  writeDifference(path.join(dir, CHANGES, differenceFile(TO)), head, manyChanges());

  /** Joins the list and reads its first pages. @returns the longest pause of this thread, in ms */
  async function measurePause(): Promise<number> {
    const now = () => performance.now();
    const store = makeChangeStore(dir, { joined() {}, failed() {} }, now);
    const delay = monitorEventLoopDelay({ resolution: 1 });
    delay.enable();
    for (let page = 0; page < PAGES; page++) {
      const order = { from: FROM, to: TO, first: page * 100, count: 100 };
      const reply = await new Promise<PageReply>((resolve) => store.read(order, resolve));
      expect(reply).toMatchObject({ total: CHANGED, count: 100 });
    }
    delay.disable();
    store.close();
    return delay.max / 1e6;
  }

  const pauses: number[] = [];
  for (let round = 0; round < ROUNDS; round++) pauses.push(await measurePause());
  const started = performance.now();
  join(dir, { from: FROM, to: TO, first: 0, end: 100_000 });
  const onThisThread = performance.now() - started;
  // The shortest, since other programs on the machine may delay this thread, too.
  expect(Math.min(...pauses), `${pauses} ms, ${onThisThread} ms`).toBeLessThan(onThisThread / 10);
});
