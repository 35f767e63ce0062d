/**
 * A drill: the database and the snapshots are gone. With a backup of the keys and the catalogue of the
 * site, the API serves again, and clients continue with their keys.
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { createKeysTables } from '../../../keys/tables/schema.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { makeDatabase } from '../../support/databases.ts';
import { generate, makeFolder, startProxy } from '../../support/product.ts';
import { runKeys } from '../keys-command.ts';

test('everything is gone, is restored, and clients continue with their keys', async () => {
  const folder = makeFolder();
  const snapshotsDir = path.join(folder, 'snapshots');
  const backup = path.join(folder, 'keys.backup');
  const newSite = async (kind: 'mysql' | 'sqlite') => {
    const url = await makeDatabase(kind);
    const database = await openDatabase(url);
    await loadCatalogue(database, { ...sampleCatalogue(), accounts: [] });
    await createKeysTables(database);
    const keys = async (...words: string[]) => {
      const done = await runKeys(database, words);
      if (done.code !== 0) throw new Error(done.stderr);
      return done.stdout.trim();
    };
    return { url, database, keys };
  };
  /** What clients get with their keys from a proxy on these snapshots. */
  const statuses = async (keys: readonly string[]) => {
    const proxy = await startProxy(snapshotsDir);
    const found: number[] = [];
    for (const key of keys) found.push((await proxy.get('/games/snes/chrono-trigger', key)).status);
    await proxy.stop();
    return found;
  };

  const first = await newSite('mysql');
  const account = await first.keys('add-account', 'seven@covers.example', '--name', 'Seven');
  await first.keys('request', '--account', account, '--purpose', 'x', '--url', 'https://x.example');
  await first.keys('approve', '1', '--limit', '77');
  const owned = await first.keys('reveal', '1');
  const issued = await first.keys('issue');
  const revoked = await first.keys('issue');
  await first.keys('revoke', '3', '--reason', 'leaked');
  const history = await first.keys('history', '1', '--json');
  await generate(first.url, snapshotsDir);
  const clients = [owned, issued, revoked];
  expect(await statuses(clients)).toEqual([200, 200, 401]);
  await first.keys('export', backup);

  const name = new URL(first.url).pathname.slice(1);
  await first.database.run(`DROP DATABASE ${name}`);
  await first.database.run(`CREATE DATABASE ${name}`);
  await first.database.close();
  rmSync(snapshotsDir, { recursive: true });

  const second = await newSite('sqlite');
  await second.keys('import', backup);
  await generate(second.url, snapshotsDir);
  expect(await statuses(clients)).toEqual([200, 200, 401]);
  expect(await second.keys('history', '1', '--json')).toBe(history);
  expect(JSON.parse(await second.keys('list', '--json'))).toMatchObject([
    { id: 1, limit_per_minute: 77 },
    { id: 2 },
    { id: 3, state: 'revoked' },
  ]);
  // The owner can still manage the key.
  const rotated = await second.keys('rotate', '1');
  expect(rotated).not.toBe(owned);
  await second.database.close();
});
