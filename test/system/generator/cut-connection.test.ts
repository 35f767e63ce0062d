/**
 * No partial export is ever published: a run whose connection is cut, or whose tables are altered while it
 * reads, publishes nothing and gives the reason. `test/soak/generator/cut-connection.test.ts` cuts at any byte.
 */
import { expect, test } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import { currentId, idsOnDisk } from '../../../store/generations/generations.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { plainCatalogue } from '../../catalogue/plain.ts';
import { run } from '../../generator/reuse/runs.ts';
import { makeDatabase, sharedMariaDb } from '../../support/databases.ts';
import { generate } from '../../support/product.ts';
import { type Cut, startTcpProxy, type TcpProxy } from '../../support/servers/tcp-proxy.ts';
import {
  expectNoDebris,
  expectOneClearLine,
  newSnapshots,
  runGenerator,
} from '../../support/wholeness.ts';

async function makeSite(): Promise<{ url: string; database: Database }> {
  const url = await makeDatabase('mysql');
  const database = await openDatabase(url);
  await loadCatalogue(database, plainCatalogue(300));
  return { url, database };
}

/** The address through the proxy, with a timeout of one second. */
function urlThrough(url: string, { port }: TcpProxy): string {
  const through = new URL(url);
  through.port = String(port);
  return `${through.href}?timeout=1`;
}

test.each<[Cut, number]>([
  // While a session is prepared, and while rows are read.
  ['reset', 0.1],
  ['end', 0.5],
  ['silence', 0.8],
])('a connection that is cut (%s) after this share of its bytes: %d', async (how, share) => {
  const { url, database } = await makeSite();
  await database.close();
  const { port } = await sharedMariaDb();
  const whole = await startTcpProxy(port);
  await generate(urlThrough(url, whole), newSnapshots());
  await whole.stop();

  const proxy = await startTcpProxy(port, Math.floor(share * whole.bytes()));
  const dir = newSnapshots();
  const running = runGenerator(urlThrough(url, proxy), dir);
  await proxy.reached;
  proxy.cut(how, true);
  expect(expectOneClearLine(await running)).toMatch(/127\.0\.0\.1:\d+/);
  await proxy.stop();
  expect(idsOnDisk(dir)).toEqual([]);
  expect(currentId(dir)).toBe(undefined);
});

test.each([
  ['is altered', 'ALTER TABLE covers FORCE', 'Table definition has changed'],
  ['is truncated', 'TRUNCATE TABLE covers', 'Table definition has changed'],
  ['is dropped', 'DROP TABLE covers', "covers' doesn't exist"],
])('a table that %s between the begin of the snapshot and its read', async (_, ddl, fault) => {
  const { url, database } = await makeSite();
  const other = await openDatabase(url);
  const altered: Database = {
    ...database,
    snapshot: (read) =>
      database.snapshot(async (reader) => {
        await other.run(ddl);
        return read(reader);
      }),
  };
  const dir = newSnapshots();
  await expect(run(altered, dir)).rejects.toThrow(fault);
  expect(idsOnDisk(dir)).toEqual([]);
  expectNoDebris(dir);
  await database.close();
  await other.close();
});
