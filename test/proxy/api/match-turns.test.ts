/** Requests of `/match` that share a thread with others: in the process, with generations that are replaced. */
import { closeSync, realpathSync } from 'node:fs';
import { BlockList } from 'node:net';
import path from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { hashKey, makeKey } from '#lib/format/api-key.ts';
import { CURRENT } from '#lib/format/layout.ts';
import { makeKeyTable } from '#proxy/admit/keys/key-table.ts';
import { AddressLimits } from '#proxy/admit/limits/address-limits.ts';
import { makeRollingWindow, takeLocally } from '#proxy/admit/limits/rolling-window.ts';
import { Api } from '#proxy/api/handler.ts';
import { makeRequestCounts, newRequestCounts } from '#proxy/api/request-counts.ts';
import { readHead } from '#proxy/http/request.ts';
import { makeGeneration } from '#proxy/snapshot/generation.ts';
import { openFiles } from '#proxy/snapshot/open-files.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';

const dir = realpathSync(path.join(await makeSampleSnapshots(), CURRENT));
const files = openFiles({ dir, id: path.basename(dir) });
atEndOfFile(() => files.descriptors.forEach(closeSync));
const first = makeGeneration(files);
const NEXT = '000002-0123456789ab';
const next = { ...first, id: NEXT };
const LIST = `/match?platform=snes&names=${'Chrono Trigger/'.repeat(3)}Unheard Of`;

function start() {
  const keys = [1, 2].map(() => makeKey());
  const table = makeKeyTable();
  table.replace(
    keys.map((key, at) => ({
      ...{ id: at + 1, hash: hashKey(key), state: 'approved', limit: 1000 },
      window: makeRollingWindow(1000).memory,
    })),
  );
  const answered: string[] = [];
  const api = new Api({
    keys: table,
    addresses: new AddressLimits(60),
    limiter: { take: takeLocally },
    trustedProxies: new BlockList(),
    publicUrl: 'https://api.covers.example',
    hasDownloads: true,
    counts: makeRequestCounts(newRequestCounts()),
    log: pino({ enabled: false }),
    now: () => 1,
  });
  api.serve(first);
  return {
    answered,
    replace: () => api.serve(next),
    /** @returns the status, the snapshot, and how many names the answer has */
    get(target: string, key = 0, snapshot?: string) {
      const pinned = snapshot === undefined ? [] : ['X-Snapshot', snapshot];
      const rawHeaders = ['Host', 'x', 'X-Api-Key', keys[key], ...pinned];
      const head = readHead({ rawHeaders, httpVersion: '1.1' });
      const socket = { remoteAddress: '192.0.2.1', destroyed: false, readableEnded: false };
      return new Promise((resolve, reject) => {
        api.handle(
          { method: 'GET', socket, head, target },
          {
            send({ status, headers, body }) {
              answered.push(target);
              const [, id] = /X-Snapshot: (.*)/.exec(headers) ?? [];
              resolve([status, id, body.toString().split('"name":"Chrono Trigger"').length - 1]);
            },
            sendPieces: async () => reject(new Error('a download')),
            destroy: () => reject(new Error('broken off')),
          },
        );
      });
    },
  };
}

test('a game is answered while a list of names is under way', async () => {
  const { get, answered } = start();
  const list = get(LIST);
  const game = '/games/snes/chrono-trigger';
  await get(game, 1);
  expect(answered).toEqual([game]);
  expect(await list).toEqual([200, first.id, 3]);
});

test('what was found of a generation that is replaced meanwhile is found again', async () => {
  const { get, replace } = start();
  const lists = [get(LIST), get(LIST, 0, first.id), get('/match?platform=none&names=a')];
  replace();
  const [whole, pinned, wrong] = await Promise.all(lists);
  expect(whole).toEqual([200, NEXT, 3]);
  expect(pinned).toEqual([412, undefined, 0]);
  expect(wrong).toEqual([400, undefined, 0]);
});
