/**
 * The folder in which a run writes a generation before it is published. The caller holds the lock of
 * the snapshots folder. The folder is removed however the run ends, also by `process.exit`; after a
 * kill, the next run removes it.
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { GENERATIONS, UNFINISHED_PREFIX } from '../format/layout.ts';
import { correctPermissions } from './correct-permissions.ts';
import { makeFolder } from './files/file-modes.ts';
import { removeDeadWrites } from './files/replace-file.ts';
import { makeFolders } from './generations.ts';
import { removeDebris } from './prune.ts';

export interface UnfinishedGeneration {
  /** A folder for other files of the run. */
  readonly work: string;
  /** The folder of the generation, with its empty subfolders. */
  readonly dir: string;
  /** Removes both. */
  clear(): void;
}

/**
 * Creates the snapshots folder if necessary, and removes what killed runs have left.
 * @param warn called with the fix, if permissions of earlier generations are wrong
 */
export function beginGeneration(
  snapshotsDir: string,
  warn: (text: string) => void,
): UnfinishedGeneration {
  makeFolders(snapshotsDir);
  removeDebris(snapshotsDir);
  removeDeadWrites(snapshotsDir);
  const foreign = correctPermissions(snapshotsDir);
  if (foreign !== undefined) warn(foreign);
  const work = path.join(snapshotsDir, GENERATIONS, `${UNFINISHED_PREFIX}${process.pid}`);
  const dir = path.join(work, 'generation');
  for (const folder of [work, dir]) makeFolder(folder);
  for (const folder of ['games', 'covers', 'index']) makeFolder(path.join(dir, folder));
  // Removing is retried, since a worker may still be writing while the process exits.
  const remove = () => rmSync(work, { recursive: true, force: true, maxRetries: 20 });
  process.once('exit', remove);
  return {
    work,
    dir,
    clear() {
      process.removeListener('exit', remove);
      remove();
    },
  };
}
