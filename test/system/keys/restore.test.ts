/**
 * A drill of "Backup and restore" in operations/keys.md: the database and the exported keys are gone. With a dump
 * of the tables of keys, clients continue with their keys, and the history is protected again.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { exportKeys } from '#keys/export/export-keys.ts';
import { eventsOf } from '#keys/lifecycle/history.ts';
import { requestKey, revealKey } from '#keys/lifecycle/own-keys.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeDatabase, sharedServer } from '#test/support/databases.ts';
import { makeFolder, NEVER, ROOT, runKeys, startProxy } from '#test/support/product.ts';

const run = promisify(execFile);

/** The options and tables of the documented dump. */
function documentedDump(): { options: string[]; tables: string[] } {
  const text = readFileSync(path.join(ROOT, 'operations/keys.md'), 'utf8');
  const [, options = '', tables = ''] =
    /^ {4}mariadb-dump (--\S+) catalogue_api ([a-z_ ]+) > /m.exec(text) ?? [];
  return { options: options.split(' '), tables: tables.split(' ') };
}

async function openSite() {
  const url = await makeDatabase('mysql');
  const database = await openDatabase(url);
  const keys = async (...words: string[]) => {
    const done = await runKeys(url, words);
    if (done.code !== 0) throw new Error(done.stderr);
    return done.stdout.trim();
  };
  return { database, keys, name: new URL(url).pathname.slice(1) };
}

test('everything is gone, is restored from a dump, and clients continue with their keys', async () => {
  const backup = path.join(makeFolder(), 'keys.sql');
  /** What clients get with their keys from a proxy on these snapshots. */
  const statuses = async (database: Database, keys: readonly string[]) => {
    const snapshotsDir = await makeSampleSnapshots();
    await exportKeys(database, snapshotsDir);
    const proxy = await startProxy(snapshotsDir, {}, NEVER);
    const found: number[] = [];
    for (const key of keys) found.push((await proxy.get('/games/snes/chrono-trigger', key)).status);
    await proxy.stop();
    return found;
  };

  const first = await openSite();
  await createKeysTables(first.database);
  const account = await first.keys('account', 'add', 'seven@covers.example', '--name', 'Seven');
  const [accountId, at] = [Number(account), new Date()];
  const request = { accountId, purpose: '☃ "x"', websiteUrl: 'https://x.example', at };
  await requestKey(first.database, request);
  await first.keys('approve', '1', '--limit', '77');
  const { key: owned } = await revealKey(first.database, { id: 1, accountId, at });
  const issued = await first.keys('issue');
  const revoked = await first.keys('issue');
  await first.keys('revoke', '3', '--reason', 'leaked');
  const history = await eventsOf(first.database, 1);
  const clients = [owned, issued, revoked];
  expect(await statuses(first.database, clients)).toEqual([200, 200, 401]);
  const [command, login] = (await sharedServer()).dumpCommand(first.name);
  const { options, tables } = documentedDump();
  expect(login).toEqual(expect.arrayContaining(options));
  await run(command, [...login, ...tables, `--result-file=${backup}`]);
  const listed = await first.keys('list', '--json');
  await first.database.run(`DROP DATABASE ${first.name}`);
  await first.database.run(`CREATE DATABASE ${first.name}`);
  await first.database.close();

  const second = await openSite();
  const client = login.filter((word) => word !== '--single-transaction' && word !== first.name);
  await run('mariadb', [...client, second.name, '-e', `source ${backup}`]);
  await createKeysTables(second.database);
  expect(await statuses(second.database, clients)).toEqual([200, 200, 401]);
  expect(await second.keys('list', '--json')).toBe(listed);
  expect(await eventsOf(second.database, 1)).toEqual(history);
  await expect(second.database.run('DELETE FROM key_events')).rejects.toThrow(
    'cannot be rewritten',
  );
  // The owner can still manage the key.
  expect(await second.keys('rotate', '1')).not.toBe(owned);
  await second.database.close();
});
