/** For how long the files of a replaced generation are open. */
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { Snapshots } from '#proxy/snapshot/snapshots.ts';
import { StoredFiles } from '#proxy/snapshot/stored-files.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { openFilesIn } from '#test/support/processes.ts';
import { makeChanging, newSnapshots } from '#test/support/wholeness.ts';

const MINUTE = 60_000;

async function start() {
  const database = await makeChanging();
  const dir = newSnapshots();
  let time = 0;
  let served: StoredFiles | undefined;
  const serve = async (files: ConstructorParameters<typeof StoredFiles>[0]) => {
    served = new StoredFiles(files);
  };
  const snapshots = new Snapshots(dir, serve, pino({ enabled: false }), () => time);
  atEndOfFile(() => snapshots.close());
  return {
    dir,
    snapshots,
    /** Publishes a generation. @returns its files */
    async publish(): Promise<StoredFiles> {
      await database.publish(dir);
      await snapshots.refresh();
      return served as StoredFiles;
    },
    async after(milliseconds: number): Promise<void> {
      time += milliseconds;
      await snapshots.refresh();
    },
  };
}

test('files that no download needs are closed once their generation is replaced', async () => {
  const { snapshots, publish, dir } = await start();
  const first = await publish();
  // Has ended, and cannot be resumed.
  first.hold();
  first.release();
  const open = openFilesIn(dir).length;
  await publish();
  expect([first.isClosed(), first.hold(), snapshots.kept()]).toEqual([true, false, 0]);
  expect(openFilesIn(dir)).toHaveLength(open);
});

test('files are open during each download, and ten minutes longer', async () => {
  const { snapshots, publish, after } = await start();
  const first = await publish();
  expect(first.hold(true)).toBe(true);
  await publish();
  await after(1000 * MINUTE);
  expect(first.isClosed()).toBe(false);
  first.release();
  await after(9 * MINUTE);
  // Resumed, and interrupted again.
  expect(first.hold(true)).toBe(true);
  first.release();
  await after(9 * MINUTE);
  await after(9 * MINUTE);
  expect([first.isClosed(), snapshots.kept()]).toEqual([false, 1]);
  await after(MINUTE);
  expect([first.isClosed(), snapshots.kept()]).toEqual([true, 0]);
});

test('without downloads under way, at most five replaced generations are open', async () => {
  const { snapshots, publish } = await start();
  const stored: StoredFiles[] = [];
  for (let i = 0; i < 7; i++) {
    const files = await publish();
    files.hold(true);
    files.release();
    stored.push(files);
  }
  expect(stored.map((files) => files.isClosed())).toEqual([
    ...[true, false, false, false, false, false, false],
  ]);
  expect(snapshots.kept()).toBe(5);
});
