/**
 * Whether a user may use a file, by the permissions of the file and of every folder above it. It is
 * computed, not tried, because this program usually runs as another user. Access control lists are not
 * considered.
 */
import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** The bit of a folder that lets a user reach what is in it. */
const SEARCH = 1;
/** The bits of each right, as in the mode of a file. */
const RIGHTS = { read: 4, 'write into': 2 | SEARCH, enter: 4 | SEARCH };

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
