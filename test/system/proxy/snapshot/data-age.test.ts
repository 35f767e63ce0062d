/**
 * The age of the served data in `/readyz` and the metrics: the time since the current generation, not
 * any other, was last found to agree with the database. The tests move times on disk into the past, so
 * that each possible source gives another age.
 */

import { readFileSync, rmSync, truncateSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { GAME_INDEX, STATUS_FILE } from '#lib/format/layout.ts';
import { currentId, generationDir } from '#lib/generations/generations.ts';
import { generate, NEVER, type OwnProxy, runSnapshots, startProxy } from '#test/support/product.ts';
import { makeChanging, newSnapshots, runGenerator, statusOf } from '#test/support/wholeness.ts';

const HOUR = 3600;
/** In seconds, longer than any step of these tests. */
const TOLERANCE = 600;

const ago = (seconds: number) => new Date(Date.now() - seconds * 1000);
const statusFile = (dir: string) => path.join(dir, STATUS_FILE);

/** Sets when a generation was published, and when it was last found to agree with the database. */
function moveTimes(dir: string, id: string, published: number, agreed: number): void {
  utimesSync(generationDir(dir, id), ago(published), ago(published));
  const status = statusOf(dir);
  if (id === status.id) status.current_as_of = ago(agreed).toISOString();
  writeFileSync(statusFile(dir), JSON.stringify(status));
}

// Two generations: the newer one published 4 hours ago and confirmed until 2 hours ago.
const dir = newSnapshots();
const database = await makeChanging();
await generate(database.url, dir);
const older = currentId(dir) as string;
const newer = await database.publish(dir);
moveTimes(dir, newer, 4 * HOUR, 2 * HOUR);

/** @returns the age of the served generation in `/readyz`, compared with the metrics */
async function ageOf(proxy: OwnProxy, id: string): Promise<number> {
  await proxy.refresh();
  const { snapshot, snapshot_age_seconds: age } = (await proxy.readyz()).json;
  expect(snapshot).toBe(id);
  const metric = Number(/^snapshot_age_seconds (\d+)$/m.exec(await proxy.metrics())?.[1]);
  expect(Math.abs(metric - age)).toBeLessThan(TOLERANCE);
  return age;
}

function expectAbout(age: number, expected: number): void {
  expect(Math.abs(age - expected), `${age} s`).toBeLessThan(TOLERANCE);
}

test('the age is that of the current generation after a run, a rollback, a resume and a refusal', async () => {
  const proxy = await startProxy(dir, {}, NEVER);
  expectAbout(await ageOf(proxy, newer), 2 * HOUR);

  // A run without changes resets the age of the generation.
  await generate(database.url, dir);
  expectAbout(await ageOf(proxy, newer), 0);

  await runSnapshots(dir, 'rollback', older, '--with-taken-down');
  const again = currentId(dir) as string;
  utimesSync(generationDir(dir, again), ago(HOUR), ago(HOUR));
  expectAbout(await ageOf(proxy, again), HOUR);
  // A refused run does not reset the age.
  expect((await runGenerator(database.url, dir)).code).toBe(3);
  expectAbout(await ageOf(proxy, again), HOUR);

  await runSnapshots(dir, 'resume');
  const third = await database.publish(dir);
  expectAbout(await ageOf(proxy, third), 0);
  moveTimes(dir, third, 3 * HOUR, 3 * HOUR);

  // The next generation is damaged before the proxy opens it, so the previous one is still served.
  const fourth = await database.publish(dir);
  truncateSync(path.join(generationDir(dir, fourth), GAME_INDEX), 10);
  expectAbout(await ageOf(proxy, third), 3 * HOUR);
  expect((await proxy.readyz()).json.refused.id).toBe(fourth);
});

test('without a usable status file the age is the time since the generation was published', async () => {
  const dir = newSnapshots();
  await generate(database.url, dir);
  const id = currentId(dir) as string;
  moveTimes(dir, id, 9 * HOUR, 5 * HOUR);
  const good = readFileSync(statusFile(dir), 'utf8');
  const proxy = await startProxy(dir, {}, NEVER);
  expectAbout(await ageOf(proxy, id), 5 * HOUR);
  const wrong: (() => void)[] = [
    () => rmSync(statusFile(dir)),
    ...['', '{"fin', 'null', '[]', '{}'].map((text) => () => writeFileSync(statusFile(dir), text)),
    () => writeFileSync(statusFile(dir), good.replace(id, '000009-0123456789ab')),
    () => writeFileSync(statusFile(dir), good.replace(/as_of": ?"[^"]*"/g, 'as_of":"soon"')),
    () => writeFileSync(statusFile(dir), good.padEnd(2 * 1024 * 1024)),
  ];
  for (const damage of wrong) {
    damage();
    expectAbout(await ageOf(proxy, id), 9 * HOUR);
  }
  writeFileSync(statusFile(dir), good);
  expectAbout(await ageOf(proxy, id), 5 * HOUR);
});
