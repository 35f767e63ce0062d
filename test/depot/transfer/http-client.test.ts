/** A transfer fails if a server sends nothing, or next to nothing, for some time. */
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { makeHttpClient } from '../../../depot/transfer/http-client.ts';
import { TransferError } from '../../../depot/transfer/try-again.ts';
import { atEndOfFile } from '../../support/end-of-file.ts';

const SECONDS = 3;
/** The bytes with which a transfer goes on for another interval. */
const ENOUGH = 512 * SECONDS;

/** A request to a server that has sent the head of its reply. `tick` ends an interval. */
async function startTransfer() {
  const server = createServer().listen(0, '127.0.0.1');
  atEndOfFile(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, 'listening');
  const intervals: number[] = [];
  let tick = () => {};
  let isStopped = false;
  const client = makeHttpClient(false, SECONDS, (call, milliseconds) => {
    intervals.push(milliseconds);
    tick = call;
    return () => {
      isStopped = true;
    };
  });
  const sent = client.send(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {});
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse];
  return {
    client,
    sent,
    response,
    intervals,
    tick: () => tick(),
    isStopped: () => isStopped,
    async read() {
      response.flushHeaders();
      return (await sent).body[Symbol.asyncIterator]();
    },
  };
}

test('without a reply', async () => {
  const { sent, tick, intervals } = await startTransfer();
  expect(intervals).toEqual([SECONDS * 1000]);
  tick();
  await expect(sent).rejects.toThrow('no reply: only 0 bytes in 3 s were transferred');
  await expect(sent).rejects.toThrow(TransferError);
});

test('after the head of a reply', async () => {
  const { read, tick } = await startTransfer();
  const body = await read();
  const piece = body.next();
  tick();
  await expect(piece).rejects.toThrow('only 0 bytes in 3 s were transferred');
});

test('if too few bytes come in an interval, but not if there are enough', async () => {
  const { read, tick, response, client } = await startTransfer();
  const body = await read();
  response.write(Buffer.alloc(ENOUGH));
  while (client.received() < ENOUGH) await body.next();
  tick();
  response.write(Buffer.alloc(ENOUGH - 1));
  while (client.received() < 2 * ENOUGH - 1) await body.next();
  const piece = body.next();
  tick();
  await expect(piece).rejects.toThrow(`only ${ENOUGH - 1} bytes in 3 s were transferred`);
});

test('and one that ends is watched no longer', async () => {
  const { read, response, isStopped } = await startTransfer();
  const body = await read();
  response.end('x');
  expect(String((await body.next()).value)).toBe('x');
  expect(isStopped()).toBe(false);
  expect((await body.next()).done).toBe(true);
  expect(isStopped()).toBe(true);
});
