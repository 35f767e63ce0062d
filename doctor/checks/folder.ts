/**
 * The snapshots folder: whether the generator may write into it, whether the proxy's user may read what
 * it needs and report key usage, and whether others may read the hashes of keys.
 */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { KEYS_FILE, PROXY_FOLDER } from '../../format/layout.ts';
import { checkId, currentId, generationDir, readManifest } from '../../generations/generations.ts';
import { checkReadableFolder, checkWritableFolder, isMissing } from '../../program/folders.ts';
import { type Check, type Findings, requireValue, type Scene } from '../findings/check.ts';
import { findDenial, type SystemUser } from '../user-permissions.ts';
import { findProxyUser } from './proxy-user.ts';

const SEE = 'See "Users and file permissions" in OPERATIONS.md.';

export const folder: Check = {
  name: 'snapshots folder',
  programs: ['schedule', 'proxy', 'replica'],
  async run(scene, findings) {
    const snapshotsDir = path.resolve(requireValue(scene, 'SNAPSHOTS_DIR'));
    const writes = scene.programs.includes('schedule') || scene.programs.includes('replica');
    try {
      if (writes) checkWritableFolder(snapshotsDir);
      else checkReadableFolder(snapshotsDir);
    } catch (error) {
      findings.error(`SNAPSHOTS_DIR ${(error as Error).message}`, SEE);
      return;
    }
    if (isMissing(snapshotsDir)) {
      findings.ok(
        `${snapshotsDir} does not exist yet; the first run creates it, for one user only.`,
      );
      return;
    }
    checkIdentity(snapshotsDir, writes, findings);
    checkCurrent(snapshotsDir, findings);
    checkPrivacy(snapshotsDir, findings);
    if (scene.programs.includes('proxy')) await checkProxyUser(scene, snapshotsDir, findings);
  },
};

/** What root may do says nothing about the user of a program. */
function checkIdentity(snapshotsDir: string, writes: boolean, { ok, skip }: Findings): void {
  const { uid } = statSync(snapshotsDir);
  if (process.geteuid?.() === 0 && uid !== 0) {
    skip(
      `The doctor runs as root, and ${snapshotsDir} belongs to uid ${uid}, so this does not show what that user may do.`,
      'Run it as the user of each program: sudo -u USER cover-catalogue doctor --for PROGRAM',
    );
  } else ok(`${snapshotsDir} can be ${writes ? 'written to' : 'read'}.`);
}

function checkCurrent(snapshotsDir: string, { ok, warn, error }: Findings): void {
  const id = currentId(snapshotsDir);
  if (id === undefined) {
    warn(
      'There is no generation yet: the API answers 503.',
      'Run "cover-catalogue generate" (or, on a replica, "cover-catalogue replica").',
    );
    return;
  }
  try {
    const dir = generationDir(snapshotsDir, id);
    const manifest = readManifest(dir);
    checkId(manifest, path.basename(dir));
    const { games, covers } = manifest.counts;
    ok(`The current generation is ${id}: ${games} games, ${covers} covers.`);
  } catch (cause) {
    error(
      `The current generation ${id} cannot be served: ${(cause as Error).message}`,
      'Run "cover-catalogue generate", or go back with "cover-catalogue snapshot rollback".',
    );
  }
}

function checkPrivacy(snapshotsDir: string, { warn }: Findings): void {
  const keys = path.join(snapshotsDir, KEYS_FILE);
  if (!existsSync(keys) || (statSync(keys).mode & 0o007) === 0) return;
  warn(
    `${keys} can be used by every user of this machine; it holds the hashes of all keys.`,
    `Run: chmod o= ${keys}`,
  );
}

async function checkProxyUser(
  scene: Scene,
  snapshotsDir: string,
  { ok, warn, error, skip }: Findings,
): Promise<void> {
  const proxyFolder = path.join(snapshotsDir, PROXY_FOLDER);
  const user = await findProxyUser(scene, snapshotsDir);
  if (user === undefined) {
    skip(
      'It is not known which user the proxy runs as, so its permissions were not checked.',
      'Name the user with --proxy-user, or run the doctor again after the first start of the proxy.',
    );
    return;
  }
  const denials = denialsOf(user, snapshotsDir);
  for (const denial of denials) error(`The user of the proxy, ${user.name}, ${denial}.`, SEE);
  if (denials.length > 0) return;
  ok(`The user of the proxy, ${user.name}, can read generations and keys.`);
  const refused = !existsSync(proxyFolder)
    ? undefined
    : findDenial(user, proxyFolder, 'write into');
  if (refused === undefined) return;
  warn(
    `The user of the proxy, ${user.name}, ${refused}: limits are lost when it restarts, and key usage is not reported.`,
    `Run as root: install -d -o ${user.name} -g GROUP -m 2750 ${proxyFolder}, with the group of ${snapshotsDir}.`,
  );
}

function denialsOf(user: SystemUser, snapshotsDir: string): string[] {
  const id = currentId(snapshotsDir);
  const keys = path.join(snapshotsDir, KEYS_FILE);
  const wanted: [string, 'read' | 'enter'][] = [[snapshotsDir, 'enter']];
  if (existsSync(keys)) wanted.push([keys, 'read']);
  if (id !== undefined) {
    const dir = generationDir(snapshotsDir, id);
    wanted.push([dir, 'enter'], [path.join(dir, 'manifest.json'), 'read']);
  }
  const denials = wanted.flatMap(([file, right]) => findDenial(user, file, right) ?? []);
  return [...new Set(denials)];
}
