/** Makes another generation current, for an operator. */
import type { Manifest } from '../format/manifest.ts';
import { renewDifferences } from './changes/keep-differences.ts';
import { generationDir, pointCurrentTo, requireGeneration } from './generations/generations.ts';
import { checkId } from './generations/manifest-file.ts';
import { verifyGeneration } from './generations/verify.ts';
import { withLock } from './lock.ts';

/**
 * Verifies an older (or newer) generation, and makes it current.
 * @param prepare called under the lock just before `current` changes; if it throws, nothing changes
 * @throws LockedError, or Error that says why the generation cannot become current
 */
export async function rollbackTo(
  snapshotsDir: string,
  id: string,
  prepare: () => void = () => {},
): Promise<Manifest> {
  requireGeneration(snapshotsDir, id);
  return withLock(snapshotsDir, async () => {
    const manifest = await verifyGeneration(generationDir(snapshotsDir, id));
    checkId(manifest, id);
    prepare();
    renewDifferences(snapshotsDir, id);
    pointCurrentTo(snapshotsDir, id);
    return manifest;
  });
}
