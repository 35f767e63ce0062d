/** The variables that a push reads. Programs that push later check them when they start. */
import type { Checks } from '../../program/environment/environment.ts';
import { checkWritableFolder } from '../../program/folders.ts';
import { readSigningKeys, readVerifyingKeys } from '../signatures/configured-keys.ts';

/** Besides those of S3. */
export const PUSH_VARIABLES = [
  'SNAPSHOTS_DIR',
  'SNAPSHOT_PUSH',
  'SNAPSHOT_SIGNING_KEY',
  'SNAPSHOT_PUBLIC_KEYS',
] as const;

export const PUSH_CHECKS: Checks<(typeof PUSH_VARIABLES)[number]> = {
  SNAPSHOTS_DIR: checkWritableFolder,
  SNAPSHOT_SIGNING_KEY: readSigningKeys,
  SNAPSHOT_PUBLIC_KEYS: readVerifyingKeys,
};
