/**
 * Runs the program of the guide "Keep a copy" through three nights, as it is shown: it is killed, told to wait,
 * overtaken by new snapshots, and too late. After each night, the copy equals the API.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { guideText } from '#site/docs/docs.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { change } from '#test/support/databases.ts';
import {
  generate,
  makeFolder,
  NEVER,
  startProxy,
  testKey,
  writeKeys,
} from '#test/support/product.ts';
import { serve } from '#test/support/servers/static-files.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

const key = testKey(1);
const databaseUrl = await makeSampleSqlite();
const snapshotsDir = newSnapshots();
await publish();
const proxy = await startProxy(snapshotsDir, {}, NEVER);

/** What happens to a request, before or instead of a response of the API. */
let act: (target: string, response: ServerResponse) => Promise<boolean> = async () => false;
let requests: string[] = [];
let upstream = proxy.url;
const front = await serve(async ({ url = '', headers }, response) => {
  requests.push(url.replace('/api/v1', ''));
  if (await act(url, response)) return;
  const { host, connection, ...others } = headers;
  const found = await request(upstream + url, { headers: others });
  response.writeHead(found.statusCode, found.headers);
  response.end(Buffer.from(await found.body.arrayBuffer()));
});

const folder = makeFolder();
const facts = { api: `${front}/api/v1`, defaultLimit: 120 };
const text = guideText('keep-a-copy', facts);
const [, program = ''] = /^```python\n(.*?)^```/ms.exec(text) ?? [];
writeFileSync(path.join(folder, 'keep.py'), program);
const env = { PATH: process.env.PATH, COVERS_API: facts.api, COVERS_KEY: key.key };
const options = { cwd: folder, env };

async function run(): Promise<string> {
  requests = [];
  return (await promisify(execFile)('python3', ['keep.py'], options)).stdout;
}

async function publish(...statements: string[]): Promise<void> {
  await change(databaseUrl, ...statements);
  await generate(databaseUrl, snapshotsDir);
  writeKeys(snapshotsDir, [key]);
}

/** The records of the copy, by kind and id. */
function copied() {
  const db = new DatabaseSync(path.join(folder, 'covers.db'), { readOnly: true });
  const rows = db.prepare("SELECT kind, id, record FROM records WHERE kind <> 'snapshot'").all();
  db.close();
  return new Map(rows.map((row) => [`${row.kind} ${row.id}`, JSON.parse(String(row.record))]));
}

/** The same, as the API has them. */
async function served() {
  const records = new Map<string, object>();
  const read = async (target: string) => (await proxy.get(target, key.key)).json;
  for (const platform of (await read('/platforms')).data) {
    records.set(`platform ${platform.slug}`, platform);
    for (const [kind, list] of [
      ['game', 'games?include=titles&'],
      ['cover', 'covers?'],
    ]) {
      for (let page = 1, pages = 1; page <= pages; page++) {
        const found = await read(`/platforms/${platform.slug}/${list}per_page=100&page=${page}`);
        for (const each of found.data) records.set(`${kind} ${each.id}`, each);
        pages = found.total_pages;
      }
    }
  }
  return records;
}

test('a copy survives three nights, and equals the API after each', async () => {
  expect(program.split('\n').filter((line) => line !== '').length).toBeLessThanOrEqual(80);

  // The first night: killed during the download, then told to wait.
  let child: ChildProcess | undefined;
  act = async (_, response) => {
    const { body } = await request(`${proxy.url}/api/v1/snapshot/archive`, {
      headers: { 'x-api-key': key.key },
    });
    response.writeHead(200).write(Buffer.from(await body.arrayBuffer()).subarray(0, 50_000));
    child?.kill('SIGKILL');
    return true;
  };
  child = spawn('python3', ['keep.py'], options);
  expect(await new Promise((resolve) => child?.once('exit', (_, signal) => resolve(signal)))).toBe(
    'SIGKILL',
  );
  expect(copied().size).toBe(0);
  act = once((response) => response.writeHead(429, { 'Retry-After': '0' }).end('{}'));
  await run();
  expect(requests).toEqual(['/snapshot/archive', '/snapshot/archive']);
  const first = copied();
  expect(first).toEqual(await served());
  expect([...first.values()].filter(({ titles }) => titles?.length > 0).length).toBeGreaterThan(5);

  // The second night: only what has changed, even if a snapshot is published while the program runs.
  await publish(
    'DELETE FROM game_titles WHERE game_id = 1001',
    "INSERT INTO game_titles (game_id, title) VALUES (1002, 'Act Raiser')",
    "UPDATE games SET slug = 'moved' WHERE id = 1003",
    'DELETE FROM covers WHERE game_id = 1010',
    'DELETE FROM games WHERE id = 1010',
    "UPDATE games SET publisher = 'Nobody' WHERE id BETWEEN 1020 AND 1150",
    "UPDATE covers SET status = 'rejected' WHERE id = 50001",
    "UPDATE covers SET status = 'approved' WHERE id = 50092",
  );
  await proxy.refresh();
  act = async (target) => {
    if (!target.includes('/covers?')) return false;
    act = async () => false;
    await publish("UPDATE games SET title = 'Another Title' WHERE id = 1004");
    await proxy.refresh();
    return false;
  };
  await run();
  expect(requests.filter((target) => target.startsWith('/changes'))).toHaveLength(4);
  expect(requests).not.toContain('/snapshot/archive');
  const second = copied();
  expect(second).toEqual(await served());
  expect(second.get('game 1001').titles).toEqual([]);
  expect(second.get('game 1002').titles).toEqual(['Act Raiser']);
  expect([second.has('game 1010'), second.has('cover 50001')]).toEqual([false, false]);

  // The third night comes too late: a catalogue that does not know the snapshot of the copy.
  const others = newSnapshots();
  await generate(databaseUrl, others);
  writeKeys(others, [key]);
  upstream = (await startProxy(others, {}, NEVER)).url;
  await run();
  expect(requests.map((target) => target.split('?')[0])).toEqual(['/changes', '/snapshot/archive']);
  expect(copied()).toEqual(await served());
});

/** The first request is answered by this, all others by the API. */
function once(answer: (response: ServerResponse) => void): typeof act {
  return async (_, response) => {
    act = async () => false;
    answer(response);
    return true;
  };
}
