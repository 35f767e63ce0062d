/** The product: the real proxy with the generation in the folder, over HTTP. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { hashKey, makeKey } from '../../../../format/api-key.ts';
import { encodeKeys } from '../../../../format/keys-file.ts';
import { KEYS_FILE } from '../../../../format/layout.ts';
import { findInProduct } from '../../../proxy/search/judged/product-search.ts';
import { chooseCores } from '../../http/process.ts';
import { startProduct } from '../../http/servers.ts';
import { snapshotsIn } from '../documents.ts';
import type { JudgedEngine } from './engine.ts';

const LIMIT_PER_MINUTE = 1_000_000;

export async function openProduct(folder: string): Promise<JudgedEngine> {
  const snapshotsDir = snapshotsIn(folder);
  const key = makeKey();
  const entry = { id: 1, hash: hashKey(key), state: 'approved', limit: LIMIT_PER_MINUTE } as const;
  writeFileSync(path.join(snapshotsDir, KEYS_FILE), encodeKeys([entry]), { mode: 0o600 });
  const product = await startProduct({ snapshotsDir }, folder, chooseCores().server);
  return { find: findInProduct(product.url, key), close: product.stop };
}
