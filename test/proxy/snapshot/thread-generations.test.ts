/**
 * The requests of one thread that wait until a generation is open: all are answered, their number is
 * limited, and a request that cannot wait gets 503.
 */
import { once } from 'node:events';
import { type AddressInfo, BlockList } from 'node:net';
import path from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { beforeAll, describe, expect, test } from 'vitest';
import { GENERATIONS } from '../../../format/layout.ts';
import { makeApi } from '../../../proxy/api/handler.ts';
import { makeRequestCounts, newRequestCounts } from '../../../proxy/api/request-counts.ts';
import { recordBody } from '../../../proxy/api/resources/body.ts';
import { makeServer } from '../../../proxy/http/server.ts';
import { makeKeyStore } from '../../../proxy/keys/key-store.ts';
import { makeAddressLimits } from '../../../proxy/limits/address-limits.ts';
import type { Generation } from '../../../proxy/snapshot/generation.ts';
import { openFiles, planOpening } from '../../../proxy/snapshot/open-files.ts';
import {
  MOST_WAITING,
  makeThreadGenerations,
  type Unavailable,
} from '../../../proxy/snapshot/thread-generations.ts';
import { makeContractChecker } from '../../support/openapi.ts';
import { send, testKey } from '../../support/product.ts';
import { makeGenerations } from './marked-generations.ts';

const key = testKey(1);
let dir: string;
let ids: string[];

beforeAll(async () => {
  ({ dir, ids } = await makeGenerations(400, ['first', 'second', 'third'], key));
});

test('a request that cannot wait for its generation gets 503 with Retry-After', async () => {
  const keys = makeKeyStore(dir, () => {});
  await keys.refresh();
  const log = pino({ level: 'silent' });
  const api = makeApi({
    snapshots: {
      current: () => ({}) as Generation,
      pinned: (_, use) => use('busy'),
      close() {},
    },
    keys,
    addresses: makeAddressLimits(60),
    trustedProxies: new BlockList(),
    publicUrl: 'https://api.covers.example',
    hasDownloads: true,
    readChanges: (_, answer) => answer('gone'),
    counts: makeRequestCounts(newRequestCounts()),
    log,
    now: () => performance.now(),
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

describe('requests that wait', () => {
  const filesOf = (number: number) => {
    const id = ids[number];
    const folder = path.join(dir, GENERATIONS, id);
    return openFiles(planOpening({ dir: folder, id, mostMemory: undefined, known: undefined }));
  };
  const wait = (thread: ReturnType<typeof makeThreadGenerations>, id: string) => {
    const answers: (string | Unavailable)[] = [];
    thread.pinned(id, (found: Generation | Unavailable) => {
      answers.push(typeof found === 'string' ? found : recordBody(found.games, 0).bytes.toString());
    });
    return answers;
  };

  test('are all answered before the generation is forgotten', async () => {
    const requested: string[] = [];
    const thread = makeThreadGenerations(
      (id) => requested.push(id),
      () => 0,
    );
    const id = ids[1];
    const answers = Array.from({ length: 50 }, () => wait(thread, id));
    expect(requested).toEqual([id]);
    thread.opened(id, filesOf(1));
    // They are answered in batches, so that other requests are served in between.
    expect(answers.flat().length).toBeLessThan(10);
    await setImmediate();
    expect(answers.flat().length).toBeLessThan(20);
    const forgotten = thread.forget(id);
    // A later request calls the store again.
    wait(thread, id);
    expect(requested).toEqual([id, id]);
    await forgotten;
    expect(answers.map((list) => list.length)).toEqual(answers.map(() => 1));
    for (const [answer] of answers) expect(answer).toContain('"second"');
  });

  test('count as a use of the generation', () => {
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

  test('are limited in number', () => {
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
