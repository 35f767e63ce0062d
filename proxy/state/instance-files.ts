/**
 * Writes the files of this proxy. They are all in `SNAPSHOTS_DIR/proxy`, the only folder that the proxy
 * writes to. Their names contain the proxy's PORT, so that several proxies can share the folder.
 */
import { existsSync } from 'node:fs';
import { access, constants, open, readdir, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { PROXY_FOLDER, UNFINISHED_PREFIX } from '../../format/layout.ts';
import { makeFolder, modesIn } from '../../generations/files/file-modes.ts';

/** No file takes this long to write. An older unfinished file was left by a process that was killed. */
const ABANDONED_MS = 60_000;

export interface InstanceFiles {
  pathOf(name: string): string;
  /**
   * Creates the folder if it is missing, and removes unfinished files that killed processes left in it.
   * @returns false if there is no snapshots folder, which the proxy does not create
   * @throws Error if no file can be created in the folder; it names the folder and the fix
   */
  prepare(): Promise<boolean>;
  /**
   * Replaces a file in one step. The file is not synced, so after a power cut it may be damaged or
   * missing; its reader must expect that.
   * @param mode the permissions of the file; by default those that fit its folder
   * @returns the modification time of the file, in milliseconds
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
      } catch (error) {
        const { message } = error as Error;
        throw new Error(`Cannot write to ${folder}: ${message}.`, { cause: error });
      }
      await removeAbandoned(folder);
      return true;
    },
    async replace(name, content, mode = modesIn(folder).file) {
      const next = path.join(folder, `${UNFINISHED_PREFIX}${name}-${process.pid}`);
      return replaceUnsynced(path.join(folder, name), next, content, mode);
    },
  };
}

/** @param next the path of the new file until it is complete */
async function replaceUnsynced(
  file: string,
  next: string,
  content: string | Uint8Array,
  mode: number,
): Promise<number> {
  try {
    await rm(next, { recursive: true, force: true });
    const handle = await open(next, 'wx', mode);
    try {
      // The umask may have removed permissions.
      await handle.chmod(mode);
      await handle.writeFile(content);
      const { mtimeMs } = await handle.stat();
      await rename(next, file);
      return mtimeMs;
    } finally {
      await handle.close();
    }
  } catch (cause) {
    await rm(next, { recursive: true, force: true }).catch(() => {});
    throw new Error(`write ${file}: ${(cause as Error).message}`, { cause });
  }
}

async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith(UNFINISHED_PREFIX)) continue;
    const file = path.join(folder, name);
    // Another proxy may have just renamed or removed the file.
    const found = await stat(file).catch(() => undefined);
    if (found !== undefined && Date.now() - found.mtimeMs > ABANDONED_MS) {
      await rm(file, { force: true });
    }
  }
}
