/** The user that the proxy runs as: the doctor itself usually runs as another one. */
import { existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { PROXY_FOLDER } from '../../format/layout.ts';
import type { Scene } from '../findings/check.ts';
import { findSystemUser, type SystemUser } from '../user-permissions.ts';

/**
 * @returns undefined if it is not known
 * @throws Error if there is no user with the name that the operator has given
 */
export async function findProxyUser(
  { proxyUser }: Scene,
  snapshotsDir: string,
): Promise<SystemUser | undefined> {
  if (proxyUser !== undefined) return findSystemUser(proxyUser);
  const folder = path.join(snapshotsDir, PROXY_FOLDER);
  // The proxy creates this folder, or an administrator does so for the user of the proxy.
  return existsSync(folder) ? findSystemUser(String(statSync(folder).uid)) : undefined;
}
