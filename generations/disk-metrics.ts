/** The metrics of the generations on disk: how many there are, their size, and the space that is left. */
import { lstat, readdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Registry } from 'prom-client';
import { GENERATIONS } from '../format/layout.ts';
import { addGauge } from '../program/admin/metrics.ts';
import { idsOnDisk } from './generations.ts';

const BLOCK_BYTES = 512;

interface DiskReadings {
  readonly generations: number;
  readonly bytes: number;
  readonly free: number;
  readonly size: number;
}

/** @returns a function that reads the values. Before its first call, and if it fails, they are unknown. */
export function addDiskMetrics(registry: Registry, snapshotsDir: string): () => Promise<void> {
  let now: DiskReadings | undefined;
  const gauge = (name: string, help: string, valueIn: (readings: DiskReadings) => number) =>
    addGauge(registry, `snapshots_${name}`, help, () => now && valueIn(now));
  gauge('generations', 'Generations on disk', ({ generations }) => generations);
  gauge(
    'generations_bytes',
    'Disk space that all generations take, with unfinished ones',
    ({ bytes }) => bytes,
  );
  gauge('disk_free_bytes', 'Free space on the disk of SNAPSHOTS_DIR', ({ free }) => free);
  gauge('disk_size_bytes', 'Size of the disk of SNAPSHOTS_DIR', ({ size }) => size);
  return async () => {
    now = await readDisk(snapshotsDir).catch(() => undefined);
  };
}

async function readDisk(snapshotsDir: string): Promise<DiskReadings> {
  const { bsize, bavail, blocks } = await statfs(snapshotsDir);
  return {
    generations: idsOnDisk(snapshotsDir).length,
    bytes: await diskUse(path.join(snapshotsDir, GENERATIONS)),
    // What a user without privileges may use.
    free: bavail * bsize,
    size: blocks * bsize,
  };
}

/** The space that the files in a folder take. A file with several links counts once. */
async function diskUse(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  const blocks = new Map<number, number>();
  for (const entry of entries) {
    if (!entry.isFile()) continue;
    // A run may remove a generation at any moment.
    const found = await lstat(path.join(entry.parentPath, entry.name)).catch(() => undefined);
    if (found !== undefined) blocks.set(found.ino, found.blocks);
  }
  return [...blocks.values()].reduce((sum, count) => sum + count * BLOCK_BYTES, 0);
}
