/**
 * Generations that clients ask for by name: however many are asked for in turn, few are open, at
 * most one of them with packs in memory, and every request gets its own generation's answer.
 */
import { once } from 'node:events';
import {
  cpSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { stat } from 'node:fs/promises';
import { type AddressInfo, BlockList } from 'node:net';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { Pool } from 'undici';
import { beforeAll, describe, expect, test } from 'vitest';
import { GENERATIONS, MANIFEST } from '../../../format/layout.ts';
import { encodeManifest, makeManifest, parseManifest } from '../../../format/manifest.ts';
import { makeApi } from '../../../proxy/api/handler.ts';
import { makeRequestCounts, newRequestCounts } from '../../../proxy/api/request-counts.ts';
import { makeServer } from '../../../proxy/http/server.ts';
import { makeKeyStore } from '../../../proxy/keys/key-store.ts';
import { makeAddressLimits } from '../../../proxy/limits/address-limits.ts';
import type { Generation } from '../../../proxy/snapshot/generation.ts';
import { openFiles, planOpening } from '../../../proxy/snapshot/open-files.ts';
import { MOST_OPEN_PACKS } from '../../../proxy/snapshot/pack-files.ts';
import { openSnapshots, type Snapshots } from '../../../proxy/snapshot/snapshots.ts';
import {
  MOST_WAITING,
  makeThreadGenerations,
  type Unavailable,
} from '../../../proxy/snapshot/thread-generations.ts';
import { makeContractChecker } from '../../support/openapi.ts';
import {
  makeFolder,
  type RunningProxy,
  send,
  startProxy,
  testKey,
  until,
} from '../../support/product.ts';
import { printFigure, rounds } from '../../support/rounds.ts';
import { askByName, makeGenerations, pointTo } from './marked-generations.ts';

const MARKS = ['first', 'second', 'third', 'fourth', 'fifth'];
const CLIENTS = 50;
/** Enough that no two indexes fit into a megabyte, the least that a proxy can be given. */
const GAMES = rounds(4_000, 150_000);
const ROUNDS = rounds(1, 20);
/** What a proxy's heap may come to besides, however many generations are asked for. */
const MARGIN_MB = 150;
const PLATFORMS = 60;
const REST_MS = 2_000;

const key = testKey(1);
let dir: string;
let ids: string[];

beforeAll(async () => {
  ({ dir, ids } = await makeGenerations(GAMES, MARKS, key));
}, 3_600_000);

const folderOf = (id: string) => path.join(dir, GENERATIONS, id);
const indexBytes = (id: string) =>
  readdirSync(path.join(folderOf(id), 'index'))
    .map((name) => statSync(path.join(folderOf(id), 'index', name)).size)
    .reduce((sum, size) => sum + size, 0);

/** A folder with generations of the same content under other numbers, none of them current. */
function makeCopies(count: number): { dir: string; ids: string[] } {
  const folder = path.join(makeFolder(), 'snapshots');
  const from = folderOf(ids[0]);
  const manifest = parseManifest(readFileSync(path.join(from, MANIFEST), 'utf8'));
  const copies = Array.from({ length: count }, (_, i) => {
    const copy = makeManifest(manifest, i + 1);
    const to = path.join(folder, GENERATIONS, copy.id);
    cpSync(from, to, { recursive: true });
    writeFileSync(path.join(to, MANIFEST), encodeManifest(copy));
    return copy.id;
  });
  return { dir: folder, ids: copies };
}

describe('with room for two besides the current one', () => {
  let snapshots: Snapshots;
  let now: number;
  const refused: string[] = [];

  function start(room = 2.5, clock = () => now++): void {
    now = 0;
    refused.length = 0;
    const events = { swapped: () => {}, refused: (id: string) => refused.push(id) };
    const mostMemory = indexBytes(ids[0]) * room;
    snapshots = openSnapshots(dir, mostMemory, events, clock);
  }
  const open = () => snapshots.store.opened().map(({ id }) => ids.indexOf(id));
  const withPacks = () =>
    snapshots.store
      .opened()
      .filter(({ packsInMemory }) => packsInMemory > 0)
      .map(({ id }) => ids.indexOf(id));
  const ask = (number: number) => askByName(snapshots, ids[number]);
  const publish = async (number: number) => {
    pointTo(dir, ids[number]);
    await snapshots.refresh();
  };

  test('the one that was used least recently makes room, and all answer', async () => {
    start();
    await publish(0);
    for (const [number, expected] of [
      [1, [0, 1]],
      [2, [0, 1, 2]],
      // Used again, so that the other makes room.
      [1, [0, 1, 2]],
      [3, [0, 1, 3]],
      [4, [0, 3, 4]],
      [0, [0, 3, 4]],
      [1, [0, 4, 1]],
    ] as const) {
      expect(await ask(number)).toBe(MARKS[number]);
      expect(open()).toEqual(expected);
      expect(withPacks()).toEqual([0]);
    }
    expect(refused).toEqual([]);
    snapshots.close();
  });

  test('all requests that wait for several are answered, and few are open meanwhile', async () => {
    start(1);
    await publish(0);
    const asked = Array.from({ length: 200 }, (_, i) => i % MARKS.length);
    let most = 0;
    const watch = setInterval(() => {
      most = Math.max(most, open().length);
    }, 1);
    expect(await Promise.all(asked.map(ask))).toEqual(asked.map((number) => MARKS[number]));
    clearInterval(watch);
    expect(most).toBe(2);
    snapshots.close();
  });

  test('a swap makes room first, and the one that was current keeps its packs, alone', async () => {
    start(1.6);
    await publish(0);
    await ask(1);
    expect(open()).toEqual([0, 1]);
    await publish(2);
    expect(open()).toEqual([0, 2]);
    expect(withPacks()).toEqual([0, 2]);
    // It was asked for before the swap and is asked for again: the crawl goes on.
    expect(await ask(1)).toBe('second');
    expect(open()).toEqual([2, 1]);
    expect(withPacks()).toEqual([2]);
    snapshots.close();
  });

  test('of two that were current before, one keeps its packs', async () => {
    start(1_000);
    for (const number of [0, 1, 2]) await publish(number);
    expect(open()).toEqual([1, 2]);
    expect(withPacks()).toEqual([1, 2]);
    expect(await ask(0)).toBe('first');
    expect(open()).toEqual([1, 2, 0]);
    expect(withPacks()).toEqual([1, 2]);
    // Back to one that is open with its packs, and to one that is open without.
    await publish(1);
    expect(withPacks()).toEqual([1, 2]);
    await publish(0);
    expect(withPacks()).toEqual([1, 0]);
    expect(snapshots.current()?.id).toBe(ids[0]);
    const before = openFilesOf('self').length;
    for (let game = 0; game < GAMES; game += 50) snapshots.current()?.game(game);
    expect(openFilesOf('self')).toHaveLength(before);
    expect(await ask(2)).toBe('third');
    snapshots.close();
  });

  test('requests during a swap, for whatever generation, get its answers', async () => {
    start(1);
    await publish(0);
    for (const number of [1, 3]) {
      const swapping = publish(number);
      expect(await Promise.all(MARKS.map((_, other) => ask(other)))).toEqual(MARKS);
      await swapping;
      expect(snapshots.current()?.id).toBe(ids[number]);
      expect(open().length).toBeLessThanOrEqual(2);
    }
    snapshots.close();
  });

  test('after room had to be made the next one waits as long as the opening took, but a swap does not', async () => {
    let ahead = 0;
    start(1, () => performance.now() + ahead);
    await publish(0);
    await ask(1);
    const asked = ask(2);
    await until(() => !open().includes(1));
    // Its opening takes this long, by the clock that the proxy has.
    ahead = REST_MS;
    await asked;
    const began = performance.now();
    const ended: number[] = [];
    const last = ask(3).then(() => ended.push(3));
    await publish(4);
    ended.push(4);
    await last;
    expect(ended).toEqual([4, 3]);
    expect(performance.now() - began).toBeGreaterThan(REST_MS * 0.9);
    snapshots.close();
  });

  test('one that changed on disk since it was last open is checked again, and refused', async () => {
    start(1_000);
    const copies = makeCopies(1);
    const [id] = copies.ids as [string];
    snapshots.close();
    const events = { swapped: () => {}, refused: (gone: string) => refused.push(gone) };
    snapshots = openSnapshots(copies.dir, 2 ** 30, events, () => now);
    expect(await askByName(snapshots, id)).toBe('first');
    now += 60_000;
    await snapshots.refresh();
    expect(snapshots.store.opened()).toEqual([]);
    expect(await askByName(snapshots, id)).toBe('first');
    now += 60_000;
    await snapshots.refresh();
    const pack = path.join(copies.dir, GENERATIONS, id, 'covers');
    const file = path.join(pack, readdirSync(pack)[0]);
    const bytes = readFileSync(file);
    bytes[bytes.length - 2] = 0x20;
    writeFileSync(file, bytes);
    expect(await askByName(snapshots, id)).toBe('gone');
    expect(refused).toEqual([id]);
    // Within half a minute it is not looked at again.
    expect(await askByName(snapshots, id)).toBe('gone');
    expect(refused).toEqual([id]);
    now += 30_000;
    expect(await askByName(snapshots, id)).toBe('gone');
    expect(refused).toEqual([id, id]);
    snapshots.close();
  });

  test('a path that leads to one is not its name, and is not looked at', async () => {
    start();
    for (const name of [`./${ids[1]}`, `../${GENERATIONS}/${ids[1]}`, `${ids[1]}/`, '.', '']) {
      expect(await askByName(snapshots, name), name).toBe('gone');
    }
    expect(refused).toEqual([]);
    expect(open()).toEqual([]);
    snapshots.close();
  });

  test('one that is pruned while it waits to be opened is gone, not at fault', async () => {
    const copies = makeCopies(2);
    const [first, second] = copies.ids as [string, string];
    refused.length = 0;
    const events = { swapped: () => {}, refused: (id: string) => refused.push(id) };
    const several = openSnapshots(copies.dir, 2 ** 30, events, () => 0);
    const answers = [askByName(several, first), askByName(several, second)];
    const folder = path.join(copies.dir, GENERATIONS, second);
    // Until the store has seen that it is there; to open the first takes much longer.
    await stat(path.join(folder, MANIFEST));
    rmSync(folder, { recursive: true });
    expect(await Promise.all(answers)).toEqual(['first', 'gone']);
    expect(refused).toEqual([]);
    several.close();
  });

  test('two looks for the current one at the same time are one', async () => {
    let swaps = 0;
    const events = { swapped: () => swaps++, refused: () => {} };
    const looking = openSnapshots(dir, 2 ** 30, events, () => 0);
    pointTo(dir, ids[0]);
    await Promise.all([looking.refresh(), looking.refresh()]);
    expect(looking.current()?.id).toBe(ids[0]);
    expect(swaps).toBe(1);
    looking.close();
  });

  test('however small they are, eight are open at most', async () => {
    const copies = makeCopies(10);
    const events = { swapped: () => {}, refused: () => {} };
    const many = openSnapshots(copies.dir, 2 ** 30, events, () => 0);
    for (const id of copies.ids) expect(await askByName(many, id)).toBe('first');
    expect(many.store.opened()).toHaveLength(8);
    many.close();
  });

  test('where the next one is smaller than that before it, others make room for the latter', async () => {
    const { dir: folder, ids: large } = makeCopies(2);
    const small = await makeGenerations(500, ['small'], key);
    const [smallId] = small.ids as [string];
    const from = path.join(small.dir, GENERATIONS, smallId);
    cpSync(from, path.join(folder, GENERATIONS, smallId), { recursive: true });
    const manifest = parseManifest(readFileSync(path.join(from, MANIFEST), 'utf8'));
    const smallBytes = manifest.files.reduce((sum, { size }) => sum + size, 0);
    const events = { swapped: () => {}, refused: () => {} };
    const room = (indexBytes(ids[0]) + smallBytes) * 1.1;
    const several = openSnapshots(folder, room, events, () => now++);
    const [current, named] = large as [string, string];
    pointTo(folder, current);
    await several.refresh();
    await askByName(several, named);
    pointTo(folder, smallId);
    await several.refresh();
    expect(several.store.opened().map(({ id }) => id)).toEqual([current, smallId]);
    several.close();
  });

  test('those that no request has named for a minute are closed', async () => {
    start(1_000);
    await publish(0);
    for (const number of [1, 2]) await ask(number);
    now += 59_000;
    await ask(2);
    now += 59_000;
    await snapshots.refresh();
    expect(open()).toEqual([0, 2]);
    snapshots.close();
  });
});

test('requests that cannot wait for a generation get 503 and are told to come back', async () => {
  const keys = makeKeyStore(dir, () => {});
  await keys.refresh();
  const log = pino({ level: 'silent' });
  const api = makeApi({
    snapshots: {
      current: () => ({}) as Generation,
      pinned: (_, use) => use('busy'),
      close() {},
    },
    ...{ keys, addresses: makeAddressLimits(60), trustedProxies: new BlockList() },
    ...{ counts: makeRequestCounts(newRequestCounts()), log, now: () => performance.now() },
  });
  const { server } = makeServer(api, () => {}, log);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const headers = { 'x-api-key': key.key, 'x-snapshot': ids[0] };
  const reply = await send(`http://127.0.0.1:${port}/api/v1/stats`, { headers });
  expect([reply.status, reply.text]).toEqual([503, '{"error":"Snapshot busy"}']);
  expect(reply.headers['retry-after']).toBe('5');
  makeContractChecker().check('GET', '/api/v1/stats', 503, reply.headers, reply.text);
  server.closeAllConnections();
  server.close();
});

describe('the requests of one thread', () => {
  const filesOf = (number: number) => {
    const id = ids[number];
    const order = { dir: folderOf(id), id, mostMemory: undefined, known: undefined };
    return openFiles(planOpening(order));
  };
  const wait = (thread: ReturnType<typeof makeThreadGenerations>, id: string) => {
    const answers: (string | Unavailable)[] = [];
    thread.pinned(id, (found: Generation | Unavailable) => {
      answers.push(typeof found === 'string' ? found : found.game(0).bytes.toString());
    });
    return answers;
  };

  test('that wait are all answered before the generation is forgotten, which comes next', async () => {
    const asked: string[] = [];
    const thread = makeThreadGenerations(
      (id) => asked.push(id),
      () => 0,
    );
    const id = ids[1];
    const answers = Array.from({ length: 50 }, () => wait(thread, id));
    expect(asked).toEqual([id]);
    thread.opened(id, filesOf(1));
    // Not all at once: other requests are served in between.
    expect(answers.flat().length).toBeLessThan(10);
    await setImmediate();
    expect(answers.flat().length).toBeLessThan(20);
    const forgotten = thread.forget(id);
    // What comes now is for the store to decide.
    wait(thread, id);
    expect(asked).toEqual([id, id]);
    await forgotten;
    expect(answers.map((list) => list.length)).toEqual(answers.map(() => 1));
    for (const [answer] of answers) expect(answer).toContain('"second"');
  });

  test('that wait make the generation one that was just used', () => {
    const thread = makeThreadGenerations(
      () => {},
      () => 5_000,
    );
    const files = filesOf(1);
    wait(thread, ids[1]);
    thread.opened(ids[1], files);
    expect(files.lastUsed[0]).toBe(5_000);
    thread.close();
  });

  test('may wait, but not in any number', () => {
    const thread = makeThreadGenerations(
      () => {},
      () => 0,
    );
    const id = ids[1];
    const other = ids[2];
    for (let i = 0; i < MOST_WAITING; i++)
      expect(wait(thread, i % 2 === 0 ? id : other)).toEqual([]);
    expect(wait(thread, id)).toEqual(['busy']);
    thread.opened(id, 'gone');
    expect(wait(thread, id)).toEqual([]);
    thread.close();
  });
});

/** The files of generations that a process has open. */
function openFilesOf(pid: number | 'self'): string[] {
  const folder = `/proc/${pid}/fd`;
  const names = readdirSync(folder).flatMap((descriptor) => {
    try {
      return readlinkSync(path.join(folder, descriptor));
    } catch {
      // It was closed since.
      return [];
    }
  });
  return names.filter((name) => name.startsWith(path.join(dir, GENERATIONS)));
}

function residentMb(proxy: RunningProxy, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${proxy.child.pid}/status`, 'utf8');
  return (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6;
}

test.each([1, 2])(
  `${CLIENTS} clients that ask for ${MARKS.length} generations in turn take no more memory or files than two (%i threads)`,
  { timeout: rounds(120_000, 3_600_000) },
  async (threads) => {
    pointTo(dir, ids[0]);
    const proxy = await startProxy(dir, {
      SNAPSHOT_MEMORY_MB: '1',
      PROXY_THREADS: String(threads),
    });
    const pool = new Pool(proxy.url, { connections: CLIENTS });
    const ask = async (target: string, id: string) => {
      const headers = { 'x-api-key': key.key, 'x-snapshot': id };
      const reply = await pool.request({ method: 'GET', path: `/api/v1${target}`, headers });
      const text = await reply.body.text();
      expect([reply.statusCode, reply.headers['x-snapshot']], text).toEqual([200, id]);
      expect(text).toContain(`"${MARKS[ids.indexOf(id)]}"`);
    };
    const opened = residentMb(proxy, 'VmRSS');
    let mostFiles = 0;
    let answers = 0;
    const watch = setInterval(() => {
      mostFiles = Math.max(mostFiles, openFilesOf(proxy.child.pid as number).length);
    }, 5);
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let turn = 0; turn < ROUNDS * MARKS.length; turn++) {
          const id = ids[(client + turn) % ids.length];
          for (let page = 1; page <= 2; page++, answers++) {
            await ask(`/search?per_page=50&page=${(turn % 20) + page}`, id);
          }
          // Publishing goes on meanwhile.
          if (client === 0 && turn % 3 === 2) pointTo(dir, ids[turn % ids.length]);
        }
      }),
    );
    clearInterval(watch);
    // The current one and that before it have their packs open, one that is named but a few, and
    // the thread that opens has the file that it reads.
    expect(mostFiles).toBeGreaterThan(0);
    expect(mostFiles).toBeLessThanOrEqual(2 * 2 * PLATFORMS + threads * MOST_OPEN_PACKS + 1);
    const highest = residentMb(proxy, 'VmHWM');
    const index = indexBytes(ids[0]) / 1e6;
    expect(highest).toBeLessThan(opened + 2 * index + MARGIN_MB);
    expect(proxy.log()).not.toContain('"level":50');
    printFigure(
      'Swaps are invisible',
      `${answers} answers of ${MARKS.length} generations to ${CLIENTS} clients in turn, ${threads} threads: ${mostFiles} files open, ${Math.round(opened)} MB with one of ${Math.round(index)} MB, at most ${Math.round(highest)} MB`,
    );
    // The end comes while packs are read: no thread closes them before the others have ended.
    const statuses = new Set<number>();
    let isOver = false;
    const last = Array.from({ length: 8 }, async (_, client) => {
      const headers = { 'x-api-key': key.key, connection: 'close' };
      for (let page = client; !isOver; page++) {
        await send(`${proxy.url}/api/v1/search?per_page=50&page=${1 + (page % 40)}`, {
          headers,
        }).then(
          ({ status }) => statuses.add(status),
          // Nobody listens any more.
          () => {
            isOver = true;
          },
        );
      }
    });
    await until(() => statuses.size > 0);
    expect(await proxy.stop()).toBe(0);
    isOver = true;
    await Promise.all(last);
    expect([...statuses]).toEqual([200]);
    expect(proxy.log()).not.toContain('"level":50');
    await pool.destroy();
  },
);
