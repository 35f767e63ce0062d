/** The metrics of the generations on disk: how many there are, their size, and the space that is left. */
import { lstat, readdir, statfs } from 'node:fs/promises';
import path from 'node:path';
import type { Registry } from 'prom-client';
import { GENERATIONS } from '../format/layout.ts';
import { addGauge } from '../program/admin/metrics.ts';
import { idsOnDisk } from './generations.ts';

const BLOCK_BYTES = 512;

/** @returns a function that reads the values. Before its first call, and if it fails, they are unknown. */
export function addDiskMetrics(registry: Registry, snapshotsDir: string): () => Promise<void> {
  let now: Awaited<ReturnType<typeof readDisk>> | undefined;
  const gauge = (name: string, help: string, value: keyof NonNullable<typeof now>) =>
    addGauge(registry, `snapshots_${name}`, help, () => now?.[value]);
  gauge('generations', 'Generations on disk', 'generations');
  gauge('generations_bytes', 'Disk space of all generations, also unfinished ones', 'bytes');
  gauge('disk_free_bytes', 'Free space on the disk of SNAPSHOTS_DIR', 'free');
  gauge('disk_size_bytes', 'Size of the disk of SNAPSHOTS_DIR', 'size');
  return async () => {
    now = await readDisk(snapshotsDir).catch(() => undefined);
  };
}

async function readDisk(snapshotsDir: string) {
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
  for (const entry of entries.filter((each) => each.isFile())) {
    // A run may remove a generation at any moment.
    const found = await lstat(path.join(entry.parentPath, entry.name)).catch(() => undefined);
    if (found !== undefined) blocks.set(found.ino, found.blocks);
  }
  return [...blocks.values()].reduce((sum, count) => sum + count * BLOCK_BYTES, 0);
}
