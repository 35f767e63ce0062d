/** Makes another generation current, for an operator. */
import type { Manifest } from '../format/manifest.ts';
import { generationDir, pointCurrentTo, requireGeneration } from './generations/generations.ts';
import { checkId } from './generations/manifest-file.ts';
import { verifyGeneration } from './generations/verify.ts';
import { withLock } from './lock.ts';

/**
 * Makes an older (or newer) generation current, after it was verified.
 * @param prepare called under the lock just before the move; if it throws, nothing moves
 * @throws LockedError, or Error naming the id and what is wrong with it
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
    pointCurrentTo(snapshotsDir, id);
    return manifest;
  });
}
