/** Shows whether somebody has touched a file of a generation since it was published. */
import { statSync } from 'node:fs';
import path from 'node:path';
import type { ManifestFile } from '../../format/manifest.ts';

/**
 * What changes if somebody writes to a file or replaces it: its device, inode, size and modification time.
 * All files are hashed again in each full run, because a disk can damage a file without changing these.
 */
export function fileState(dir: string, { path: name }: ManifestFile): string | undefined {
  const file = path.join(dir, name);
  const stats = statSync(file, { bigint: true, throwIfNoEntry: false });
  return stats && [stats.dev, stats.ino, stats.size, stats.mtimeNs].join(' ');
}
