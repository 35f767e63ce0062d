/**
 * Forged generations with valid hashes. Each is either refused with an error that names a file, when it arrives or is
 * opened, or it is served without hanging and without reading outside its files.
 */
import { readlinkSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';
import { runProgram } from '#test/support/product.ts';
import type { ForgedResult } from './forged-files-worker.ts';

const FORGERIES = rounds(200, 10_000);
/** A forgery may take a second. */
const MOST_SECONDS = FORGERIES + 60;

test(`each of ${FORGERIES} forged generations is refused with the name of a file, or served safely`, async () => {
  const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 60, seed: 5, platforms: 5 }));
  const dir = path.join(snapshotsDir, readlinkSync(path.join(snapshotsDir, 'current')));
  const worker = 'test/soak/guarantees/forged-files-worker.ts';
  const limited = ['timeout', String(MOST_SECONDS)];
  const { code, stdout, stderr } = await runProgram(worker, [dir, String(FORGERIES)], {}, limited);
  expect(code, stderr.slice(-1_000)).toBe(0);
  const { refused, served, longest, faults }: ForgedResult = JSON.parse(stdout);
  expect(faults).toEqual([]);
  expect(refused + served).toBe(FORGERIES);
  // Both outcomes must occur often, or the test would prove little.
  expect(Math.min(refused, served)).toBeGreaterThan(FORGERIES / 20);
  printFigure(
    'A damaged generation is never served',
    `${FORGERIES} forgeries with valid hashes: ${refused} refused with the name of a file, ${served} served within their files; the slowest took ${longest.toFixed(0)} ms`,
  );
});
