/**
 * The files that this proxy writes, all in `SNAPSHOTS_DIR/proxy`, the only folder that it writes to.
 * Their names contain the proxy's PORT, so that two proxies can share the folder.
 */
import { existsSync } from 'node:fs';
import { access, constants, readdir, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { PROXY_FOLDER, UNFINISHED_PREFIX } from '../../format/layout.ts';
import { makeFolder, modesIn } from '../../store/files/file-modes.ts';
import { replaceInBackground } from '../../store/files/replace-file.ts';

/** No file takes as long to write: an older one was left by a process that was killed. */
const ABANDONED_MS = 60_000;

export interface InstanceFiles {
  /** The path of a file by its name. */
  pathOf(name: string): string;
  /**
   * Creates the folder if it is missing, and removes what killed processes left in it.
   * @returns false when there is no snapshots folder: the proxy does not create that
   * @throws Error naming the folder and what to do when no file can be created in it
   */
  prepare(): Promise<boolean>;
  /**
   * Replaces a file in one step. It is not synced: its reader has to expect that it is damaged or gone
   * after a power cut.
   * @param mode the permissions of the file; by default those that its folder gives to files
   * @returns its modification time in milliseconds
   */
  replace(name: string, content: string | Uint8Array, mode?: number): Promise<number>;
}

export function makeInstanceFiles(snapshotsDir: string): InstanceFiles {
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  return {
    pathOf: (name) => path.join(folder, name),
    async prepare() {
      if (!existsSync(snapshotsDir)) return false;
      try {
        makeFolder(folder);
        await access(folder, constants.R_OK | constants.W_OK | constants.X_OK);
      } catch (cause) {
        throw new Error(
          `Cannot write to ${folder}: ${(cause as Error).message}. Let the user of the proxy own this folder; see "Users and file permissions" in OPERATIONS.md.`,
          { cause },
        );
      }
      await removeAbandoned(folder);
      return true;
    },
    async replace(name, content, mode = modesIn(folder).file) {
      const next = path.join(folder, `${UNFINISHED_PREFIX}${name}-${process.pid}`);
      return replaceInBackground(path.join(folder, name), next, content, mode);
    },
  };
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(UNFINISHED_PREFIX)) continue;
    const file = path.join(folder, name);
    // Another proxy may have just finished or removed it.
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) {
      await rm(file, { force: true });
    }
  }
}
