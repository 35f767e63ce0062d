/** Starts the real proxy with the generation in a folder of the benchmark, and with a key of its own. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { hashKey, makeKey } from '../../../format/api-key.ts';
import { encodeKeys } from '../../../format/keys-file.ts';
import { KEYS_FILE } from '../../../format/layout.ts';
import { chooseCores } from '../http/process.ts';
import { startProduct } from '../http/servers.ts';
import { snapshotsIn } from './documents.ts';

const LIMIT_PER_MINUTE = 1_000_000;

export interface StartedProduct {
  readonly url: string;
  readonly key: string;
  stop(): Promise<void>;
}

export async function startProductOn(folder: string): Promise<StartedProduct> {
  const snapshotsDir = snapshotsIn(folder);
  const key = makeKey();
  const entry = { id: 1, hash: hashKey(key), state: 'approved', limit: LIMIT_PER_MINUTE } as const;
  writeFileSync(path.join(snapshotsDir, KEYS_FILE), encodeKeys([entry]), { mode: 0o600 });
  const { url, stop } = await startProduct({ snapshotsDir }, folder, chooseCores().server);
  return { url, key, stop };
}
