/** A snapshots folder with the sample catalogue and API keys, for benchmarks of the proxy. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { openDatabase } from '../../database/open.ts';
import { hashKey } from '../../format/api-key.ts';
import { encodeKeys } from '../../format/keys-file.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { loadCatalogue } from '../catalogue/load.ts';
import { sampleCatalogue } from '../catalogue/sample.ts';
import { runGenerator } from './run-generator.ts';

/**
 * @param folder gets the database and the snapshots folder
 * @param limit of each key, in requests per minute
 * @returns the snapshots folder
 */
export async function prepareSample(
  folder: string,
  keys: readonly string[],
  limit: number,
): Promise<string> {
  const databaseUrl = `sqlite:${path.join(folder, 'catalogue.db')}`;
  const database = await openDatabase(databaseUrl, { create: true });
  await loadCatalogue(database, sampleCatalogue());
  await database.close();
  const snapshotsDir = path.join(folder, 'snapshots');
  mkdirSync(snapshotsDir);
  await runGenerator(databaseUrl, snapshotsDir);
  const entries = keys.map((key, i) => ({
    ...{ id: i + 1, hash: hashKey(key), state: 'approved' as const, limit },
  }));
  writeFileSync(path.join(snapshotsDir, KEYS_FILE), encodeKeys(entries), { mode: 0o600 });
  return snapshotsDir;
}
