/**
 * The files with which an operator controls the proxy: the file that turns maintenance on, and the access
 * log. The check reads only the first, and writes nothing.
 */
import { accessSync, constants, type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { MAINTENANCE_FILE } from '../../format/layout.ts';
import { makeMaintenanceFile, newMaintenanceCell } from '../../proxy/maintenance.ts';
import { type Check, type Findings, requireValue, type Scene } from '../findings/check.ts';
import { findDenial, type SystemUser } from '../user-permissions.ts';
import { findProxyUser } from './proxy-user.ts';

const RUN_AS_PROXY =
  'Run the doctor as the user of the proxy: sudo -u USER cover-catalogue doctor --for proxy';

export const proxyFiles: Check = {
  name: 'files of the proxy',
  programs: ['proxy'],
  async run(scene, findings) {
    const snapshotsDir = path.resolve(requireValue(scene, 'SNAPSHOTS_DIR'));
    await checkMaintenance(snapshotsDir, findings);
    const user = await findProxyUser(scene, snapshotsDir);
    checkAccessLog(scene, user, findings);
  },
};

async function checkMaintenance(snapshotsDir: string, { ok, warn, skip }: Findings): Promise<void> {
  const file = path.join(snapshotsDir, MAINTENANCE_FILE);
  const cell = newMaintenanceCell();
  try {
    await makeMaintenanceFile(snapshotsDir, cell, () => {}).refresh();
  } catch (error) {
    // It is not even known whether the file exists.
    if (cell[0] === 0) {
      skip(`${file} cannot be checked: ${(error as Error).message}`, RUN_AS_PROXY);
      return;
    }
    warn((error as Error).message, `Write a number of seconds into ${file}, or nothing.`);
  }
  if (cell[0] === 0) ok('The API is not under maintenance.');
  else {
    warn(
      `The file ${file} exists, so the API is under maintenance: it answers 503.`,
      `When the maintenance is over, run: rm ${file}`,
    );
  }
}

function checkAccessLog(
  scene: Scene,
  user: SystemUser | undefined,
  { ok, error, skip }: Findings,
): void {
  const file = requireValue(scene, 'ACCESS_LOG_FILE');
  const target = path.resolve(file);
  if (requireValue(scene, 'ACCESS_LOG') === 0) ok('ACCESS_LOG is off.');
  else if (file === '')
    ok(
      'ACCESS_LOG_FILE is not set here. Services have it in their units; otherwise the access log goes to stdout.',
    );
  else {
    try {
      const denial = findLogFault(target, user);
      if (denial === undefined) ok(`The access log can be written: ${target}.`);
      else {
        error(
          `ACCESS_LOG_FILE cannot be written: ${denial}.`,
          'Correct the path, or let the user of the proxy write there.',
        );
      }
    } catch (cause) {
      if (!isDenied(cause)) throw cause;
      skip(
        `This user may not look at ${target}, so it is not known whether it can be written.`,
        RUN_AS_PROXY,
      );
    }
  }
}

/** @returns why the proxy cannot write its access log; undefined if it can */
function findLogFault(file: string, user: SystemUser | undefined): string | undefined {
  const folder = path.dirname(file);
  if (statOf(folder)?.isDirectory() !== true) return `${folder} is not a folder`;
  const stats = statOf(file);
  if (stats !== undefined && !stats.isFile()) return `${file} is not a regular file`;
  const [target, right] =
    stats === undefined ? ([folder, 'write into'] as const) : ([file, 'write'] as const);
  if (user !== undefined && user.uid !== process.geteuid?.()) {
    const denial = findDenial(user, target, right);
    return denial && `the user of the proxy, ${user.name}, ${denial}`;
  }
  try {
    accessSync(target, right === 'write' ? constants.W_OK : constants.W_OK | constants.X_OK);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  }
}

function statOf(file: string): Stats | undefined {
  return statSync(file, { throwIfNoEntry: false });
}

/** Whether the user of the doctor lacks a permission. */
function isDenied(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EACCES') return true;
  }
  return false;
}
