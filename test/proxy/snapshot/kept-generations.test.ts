/**
 * Clients that request kept generations by name, one after another: however many they request, the
 * proxy has few open and uses a limited amount of memory, and each response is from the right one.
 */
import { readFileSync } from 'node:fs';
import { Pool } from 'undici';
import { beforeAll, expect, test } from 'vitest';
import { MOST_OPEN_PACKS } from '../../../proxy/snapshot/pack-files.ts';
import { type RunningProxy, startProxy, testKey, until } from '../../support/product.ts';
import { printFigure, rounds } from '../../support/rounds.ts';
import { indexBytes, makeGenerations, openFilesOf, pointTo } from './marked-generations.ts';

const MARKS = ['first', 'second', 'third', 'fourth', 'fifth'];
const CLIENTS = 50;
/** Enough that no two indexes fit into a megabyte, the lowest limit of a proxy. */
const GAMES = rounds(4_000, 150_000);
const ROUNDS = rounds(1, 20);
/** The heap may also grow by this much, however many generations are requested. */
const MARGIN_MB = 150;
const PLATFORMS = 60;

const key = testKey(1);
let dir: string;
let ids: string[];

beforeAll(async () => {
  ({ dir, ids } = await makeGenerations(GAMES, MARKS, key));
}, 3_600_000);

function residentMb(proxy: RunningProxy, name: 'VmRSS' | 'VmHWM'): number {
  const status = readFileSync(`/proc/${proxy.child.pid}/status`, 'utf8');
  return (Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status)?.[1]) * 1024) / 1e6;
}

test.each([1, 2])(
  `${MARKS.length} generations that ${CLIENTS} clients request in turn take no more memory or files than two (%i threads)`,
  { timeout: rounds(120_000, 3_600_000) },
  async (threads) => {
    pointTo(dir, ids[0]);
    const proxy = await startProxy(dir, {
      SNAPSHOT_MEMORY_MB: '1',
      PROXY_THREADS: String(threads),
    });
    const pool = new Pool(proxy.url, { connections: CLIENTS });
    const request = async (target: string, id: string) => {
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
      mostFiles = Math.max(mostFiles, openFilesOf(proxy.child.pid as number, dir).length);
    }, 5);
    await Promise.all(
      Array.from({ length: CLIENTS }, async (_, client) => {
        for (let turn = 0; turn < ROUNDS * MARKS.length; turn++) {
          const id = ids[(client + turn) % ids.length];
          for (let page = 1; page <= 2; page++, answers++) {
            await request(`/search?per_page=50&page=${(turn % 20) + page}`, id);
          }
          // The current generation also changes.
          if (client === 0 && turn % 3 === 2) pointTo(dir, ids[turn % ids.length]);
        }
      }),
    );
    clearInterval(watch);
    // The current and the previous generation have all their packs open, each thread a few of the
    // named ones, and the worker that opens generations the file that it reads.
    expect(mostFiles).toBeGreaterThan(0);
    expect(mostFiles).toBeLessThanOrEqual(2 * 2 * PLATFORMS + threads * MOST_OPEN_PACKS + 1);
    const highest = residentMb(proxy, 'VmHWM');
    const index = indexBytes(dir, ids[0]) / 1e6;
    expect(highest).toBeLessThan(opened + 2 * index + MARGIN_MB);
    expect(proxy.log()).not.toContain('"level":50');
    printFigure(
      'Swaps are invisible',
      `${answers} responses from ${MARKS.length} generations to ${CLIENTS} clients, ${threads} threads: ${mostFiles} files open, ${Math.round(opened)} MB with one generation (index ${Math.round(index)} MB), at most ${Math.round(highest)} MB`,
    );
    // The proxy stops while packs are read. No thread may close them before the others have ended.
    const statuses = new Set<number>();
    let isOver = false;
    const last = Array.from({ length: 8 }, async (_, client) => {
      const headers = { connection: 'close' };
      for (let page = client; !isOver; page++) {
        await proxy.get(`/search?per_page=50&page=${1 + (page % 40)}`, key.key, headers).then(
          ({ status }) => statuses.add(status),
          // The proxy no longer listens.
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
