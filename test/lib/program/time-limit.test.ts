/**
 * Time limits on a thread that is blocked for longer than the limit, while the other machine answers. The other
 * machine is a thread of its own, whose answers have arrived before the blocked thread goes on.
 */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Worker } from 'node:worker_threads';
import { describe, expect, test } from 'vitest';
import { limitTime, timeLimit, unlessActive, withinTime } from '#lib/program/time-limit.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';

const LIMIT_MS = 20;
const REPLY = 'ok';

/** How many replies the other machine has sent. */
const replies = new Int32Array(new SharedArrayBuffer(4));
const worker = new Worker(
  `const { createServer } = require('node:net');
  const { parentPort, workerData: { replies, reply } } = require('node:worker_threads');
  const server = createServer((socket) => {
    socket.once('data', () => socket.write(reply, () => {
      Atomics.add(replies, 0, 1);
      Atomics.notify(replies, 0);
    }));
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));`,
  { eval: true, workerData: { replies, reply: REPLY } },
);
atEndOfFile(() => worker.terminate());
const [port] = await once(worker, 'message');

async function openConnection() {
  const socket = connect(port, '127.0.0.1').on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends a request, and blocks this thread until its reply has arrived and the limit has passed. */
function sendAndBlock(socket: Socket): void {
  const before = replies[0];
  socket.write('x');
  Atomics.wait(replies, 0, before);
  const never = new Int32Array(new SharedArrayBuffer(4));
  Atomics.wait(never, 0, 0, LIMIT_MS * 2);
}

describe('an answer that arrives while the thread is blocked counts', () => {
  test.each<[string, (socket: Socket) => Promise<unknown[]>]>([
    ['within a time', (socket) => withinTime(once(socket, 'data'), LIMIT_MS, 'late')],
    ['with a signal', (socket) => once(socket, 'data', { signal: timeLimit(LIMIT_MS) })],
  ])('%s', async (_, receive) => {
    const socket = await openConnection();
    const received = receive(socket);
    sendAndBlock(socket);
    expect(String(await received)).toBe(REPLY);
    socket.destroy();
  });

  test('on a socket that would be called silent', async () => {
    const socket = (await openConnection()).resume();
    let isExpired = false;
    const decided = Promise.withResolvers<void>();
    socket.setTimeout(LIMIT_MS, () => {
      unlessActive(socket, () => {
        isExpired = true;
      });
      setImmediate(decided.resolve);
    });
    sendAndBlock(socket);
    await decided.promise;
    expect(isExpired).toBe(false);
    socket.destroy();
  });
});

test('without an answer, each limit expires', async () => {
  const never = new Promise<never>(() => {});
  const keepRunning = setInterval(() => {}, 1e6);
  await expect(withinTime(never, 1, 'late')).rejects.toThrow('late');
  const signal = timeLimit(1);
  await once(signal, 'abort');
  expect(signal.reason.name).toBe('TimeoutError');
  const socket = await openConnection();
  await new Promise<void>((resolve) => {
    socket.setTimeout(1, () => unlessActive(socket, resolve));
  });
  socket.destroy();
  clearInterval(keepRunning);
});

test('a limit that has ended does not expire, also if its time was over', async () => {
  let isExpired = false;
  const end = limitTime(1, () => {
    isExpired = true;
  });
  await new Promise<void>((resolve) => {
    // Due after the limit, and before it is decided.
    setTimeout(() => {
      end();
      resolve();
    }, 1);
  });
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
  expect(isExpired).toBe(false);
});
