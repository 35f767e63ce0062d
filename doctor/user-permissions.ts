/**
 * Whether a user may read a file, by the permissions of the file and of every folder above it. It is
 * computed, not tried, because this program usually runs as another user. Access control lists are not
 * considered.
 */
import { execFile } from 'node:child_process';
import { type Stats, statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const READ = 4;
const WRITE = 2;
const SEARCH = 1;
const RIGHTS = {
  read: READ,
  write: WRITE,
  'write into': WRITE | SEARCH,
  enter: READ | SEARCH,
} as const;

export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gids: readonly number[];
}

/**
 * @param user its name, or its uid as digits
 * @throws Error if there is no such user
 */
export async function findSystemUser(user: string): Promise<SystemUser> {
  const id = async (option: string) => (await run('id', [option, '--', user])).stdout.trim();
  try {
    const gids = (await id('-G')).split(' ').map(Number);
    return { name: await id('-un'), uid: Number(await id('-u')), gids };
  } catch (cause) {
    throw new Error(`There is no user ${JSON.stringify(user)} on this machine.`, { cause });
  }
}

/** @returns why the user may not use a file that exists; undefined if it may */
export function findDenial(
  user: SystemUser,
  file: string,
  right: keyof typeof RIGHTS,
): string | undefined {
  const target = path.resolve(file);
  for (const folder of foldersAbove(target)) {
    if (!has(user, statSync(folder), SEARCH)) return describe(folder, 'enter');
  }
  return has(user, statSync(target), RIGHTS[right]) ? undefined : describe(target, right);
}

/** From the root on. */
function foldersAbove(file: string): string[] {
  const above = path.dirname(file);
  return above === file ? [] : [...foldersAbove(above), above];
}

function has({ uid, gids }: SystemUser, { mode, uid: owner, gid }: Stats, bits: number): boolean {
  if (uid === 0) return true;
  // The first class that fits decides, even if a later one has more rights.
  const shift = uid === owner ? 6 : gids.includes(gid) ? 3 : 0;
  return ((mode >> shift) & bits) === bits;
}

function describe(file: string, action: string): string {
  const { mode, uid, gid } = statSync(file);
  const bits = (mode & 0o7777).toString(8).padStart(4, '0');
  return `may not ${action} ${file}, which has mode ${bits} and belongs to uid ${uid} and gid ${gid}`;
}
