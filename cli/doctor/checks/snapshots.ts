/**
 * The snapshots folder: whether it has a generation and the key of the explorer, the permissions of the proxy's
 * user, the space on the disk.
 */
import { execFile } from 'node:child_process';
import { existsSync, statfsSync, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { hashKey } from '../../../lib/format/api-key.ts';
import { LARGEST_KEYS_FILE, parseKeys } from '../../../lib/format/keys-file.ts';
import { KEYS_FILE, PROXY_FOLDER } from '../../../lib/format/layout.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  readManifest,
} from '../../../lib/generations/generations.ts';
import { type Keep, mostKept } from '../../../lib/generations/prune.ts';
import { readBoundedFileSync } from '../../../lib/program/files/bounded-file.ts';
import { closestExisting } from '../../../lib/program/folders.ts';
import {
  type Check,
  type CheckContext,
  type Findings,
  requireValue,
  SkippedError,
} from '../check.ts';

const execute = promisify(execFile);
/** The bit of a folder that lets a user reach what is in it. */
const SEARCH = 1;
/** The bits of each right, as in the mode of a file. */
const RIGHTS = { read: 4, 'write into': 2 | SEARCH, enter: 4 | SEARCH };
/** Besides the kept generations: the one that a run replaces, and the one that it writes. */
const WHILE_RUNNING = 2;
/** In bytes. Below this, not even keys and key usage can be written for long. */
const LEAST_FREE = 50e6;

export const snapshots: Check = {
  name: 'snapshots folder',
  programs: ['schedule', 'proxy', 'replica'],
  fix: 'Look at its permissions: ls -la SNAPSHOTS_DIR. See "Users and file permissions" in operations/install.md.',
  async run(context, findings) {
    const snapshotsDir = path.resolve(requireValue(context, 'SNAPSHOTS_DIR'));
    const id = currentId(snapshotsDir);
    if (id !== undefined) findings.ok(`The current generation is ${id}.`);
    else {
      findings.warn(
        'There is no generation yet: the API answers 503.',
        'Run "cover-catalogue generate" (or, on a replica, "cover-catalogue replica").',
      );
    }
    if (!context.programs.includes('proxy')) return;
    checkExplorerKey(context, path.join(snapshotsDir, KEYS_FILE), findings);
    await checkProxyUser(context, snapshotsDir, findings);
  },
};

/** A key that was revoked or rotated closes the pages that use it; only their visitors would notice. */
function checkExplorerKey({ values }: CheckContext, file: string, { error }: Findings): void {
  const { EXPLORER_KEY: key = '' } = values;
  if (key === '' || !existsSync(file)) return;
  const keys = parseKeys(readBoundedFileSync(file, LARGEST_KEYS_FILE).toString('utf8'));
  const hash = hashKey(key);
  if (keys.some((entry) => entry.hash === hash && entry.state === 'approved')) return;
  error(
    'EXPLORER_KEY is unknown or revoked: /explore and /match answer 500.',
    'Run "cover-catalogue keys issue --for-explorer", put what it prints into the settings of the proxy, and restart it.',
  );
}

/**
 * Computed from the modes of files, not tried, because the doctor usually runs as another user. Access control
 * lists are not considered.
 */
async function checkProxyUser(
  { proxyUser }: CheckContext,
  snapshotsDir: string,
  { ok, error }: Findings,
): Promise<void> {
  const ownFolder = path.join(snapshotsDir, PROXY_FOLDER);
  // The proxy creates this folder, or an administrator does so for the user of the proxy.
  const owner = proxyUser ?? statSync(ownFolder, { throwIfNoEntry: false })?.uid;
  if (owner === undefined) {
    throw new SkippedError(
      'It is not known which user the proxy runs as, so its permissions were not checked.',
      'Name the user with --proxy-user, or run the doctor again after the first start of the proxy.',
    );
  }
  const user = await findSystemUser(String(owner));
  const id = currentId(snapshotsDir);
  const dir = id === undefined ? snapshotsDir : generationDir(snapshotsDir, id);
  const wanted = [
    [snapshotsDir, 'enter'],
    [path.join(snapshotsDir, KEYS_FILE), 'read'],
    [dir, 'enter'],
    [path.join(dir, 'manifest.json'), 'read'],
    [ownFolder, 'write into'],
  ] as const;
  const denials = wanted
    .filter(([file]) => existsSync(file))
    .flatMap(([file, right]) => findDenial(user, file, right) ?? []);
  const what = `The user of the proxy, ${user.name},`;
  for (const denial of new Set(denials)) {
    error(`${what} ${denial}.`, 'See "Users and file permissions" in operations/install.md.');
  }
  if (denials.length === 0) ok(`${what} has the permissions it needs.`);
}

type SystemUser = Awaited<ReturnType<typeof findSystemUser>>;

/**
 * @param user its name, or its uid as digits
 * @throws Error if there is no such user
 */
async function findSystemUser(user: string) {
  const id = async (option: string) => (await execute('id', [option, '--', user])).stdout.trim();
  try {
    const gids = (await id('-G')).split(' ').map(Number);
    return { name: await id('-un'), uid: Number(await id('-u')), gids };
  } catch (cause) {
    throw new Error(`There is no user ${JSON.stringify(user)} on this machine.`, { cause });
  }
}

/** @returns why the user may not use a file that exists; undefined if it may */
function findDenial(
  user: SystemUser,
  file: string,
  right: keyof typeof RIGHTS,
  bits = RIGHTS[right],
): string | undefined {
  const above = path.dirname(file);
  const denial = above === file ? undefined : findDenial(user, above, 'enter', SEARCH);
  if (denial !== undefined || user.uid === 0) return denial;
  const { mode, uid, gid } = statSync(file);
  // The first class that fits decides, even if a later one has more rights.
  const shift = uid === user.uid ? 6 : user.gids.includes(gid) ? 3 : 0;
  if (((mode >> shift) & bits) === bits) return undefined;
  const shown = (mode & 0o7777).toString(8).padStart(4, '0');
  return `may not ${right} ${file}, which has mode ${shown} and belongs to uid ${uid} and gid ${gid}`;
}

export const space: Check = {
  name: 'disk space',
  programs: ['schedule', 'proxy', 'replica'],
  fix: 'Look at the disk: df -h SNAPSHOTS_DIR.',
  async run(context, findings) {
    const snapshotsDir = path.resolve(requireValue(context, 'SNAPSHOTS_DIR'));
    const { bavail, bsize } = statfsSync(closestExisting(snapshotsDir));
    const keep = {
      generations: requireValue(context, 'KEEP_GENERATIONS'),
      days: requireValue(context, 'KEEP_DAYS'),
    };
    checkSpace(snapshotsDir, bavail * bsize, keep, findings);
  },
};

/** @param free bytes on the disk of the snapshots folder */
export function checkSpace(
  snapshotsDir: string,
  free: number,
  keep: Keep,
  { ok, warn, error }: Findings,
): void {
  const size = sizeOfCurrent(snapshotsDir);
  const most = mostKept(keep) + WHILE_RUNNING;
  const missing = Math.max(0, most - idsOnDisk(snapshotsDir).length);
  const inMegabytes = (bytes: number) => `${Math.ceil(bytes / 1e6)} MB`;
  const text = `${inMegabytes(free)} are free on the disk of ${snapshotsDir}, and the current generation takes up to ${inMegabytes(size)}.`;
  const fix =
    'Use a larger disk, or free space: "cover-catalogue snapshot prune --keep 2" removes old generations.';
  if (free < Math.max(LEAST_FREE, 1.2 * size)) {
    error(`${text} The next run cannot write its generation.`, fix);
  } else if (free < missing * size) {
    warn(`${text} The disk will be full before old generations are removed.`, fix);
  } else ok(text);
}

/** @returns 0 if there is none, or if it is damaged, which the running proxy reports */
function sizeOfCurrent(snapshotsDir: string): number {
  const id = currentId(snapshotsDir);
  if (id === undefined) return 0;
  try {
    const { files } = readManifest(generationDir(snapshotsDir, id));
    return files.reduce((sum, { size }) => sum + size, 0);
  } catch {
    return 0;
  }
}
