/**
 * Clients that stop reading their responses are disconnected in time, whatever the responses are. Only the
 * kernel knows whether the proxy still holds their connections: such a client does not notice.
 */
import { readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { describe, test } from 'vitest';
import { LONGEST_DRAIN_MS } from '#proxy/http/node-response.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { until } from '#test/soak/support/until.ts';
import { startProxyProgram, testKey } from '#test/support/product.ts';

/**
 * Node waits once more if the client had taken something since the response was written. The rest allows for other
 * work on the machine.
 */
const READERS_GONE_MS = 2 * LONGEST_DRAIN_MS + 20_000;
const LONGEST_MS = 120_000;

const key = testKey(1);
const LARGE = '/api/v1/search?per_page=100';

const snapshotsDir = await makeSnapshots(seededCatalogue({ games: 3_000, seed: 5 }), [key]);
const proxy = await startProxyProgram(snapshotsDir);

/** The remote ports of the proxy's open connections, according to the kernel. */
function heldPorts(): Set<number> {
  const ESTABLISHED = '01';
  const own = `:${proxy.port.toString(16).toUpperCase().padStart(4, '0')}`;
  const held = new Set<number>();
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n').slice(1)) {
    const [, local = '', remote = '', state] = line.trim().split(/\s+/);
    if (!local.endsWith(own) || state !== ESTABLISHED) continue;
    held.add(Number.parseInt(remote.slice(remote.indexOf(':') + 1), 16));
  }
  return held;
}

/** Waits until the port is not held. @returns the milliseconds since `started` */
async function waitUntilDropped(port: number, started: number): Promise<number> {
  for (;;) {
    const elapsed = performance.now() - started;
    if (!heldPorts().has(port)) return elapsed;
    if (elapsed > LONGEST_MS) throw new Error(`Still held after ${Math.round(elapsed)} ms.`);
    await pause(500);
  }
}

function line(method: string, target: string, fields = ''): string {
  return `${method} ${target} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${key.key}\r\n${fields}\r\n`;
}

/** Bytes for one connection on loopback. The kernel's buffers grow while the client reads. */
const MORE_THAN_THE_KERNEL_BUFFERS = { atFirst: 12_000_000, later: 60_000_000 };

describe('a client that stops reading is disconnected', () => {
  const many = (
    request: string,
    answerBytes: number,
    bytes = MORE_THAN_THE_KERNEL_BUFFERS.atFirst,
  ) => request.repeat(bytes / answerBytes);

  // A concurrent test needs its own `expect`, or vitest does not count its assertions.
  test.concurrent.for<[string, number, () => string]>([
    ['during the first responses', 0, () => many(line('GET', LARGE), 50_000)],
    [
      'after it has read some responses',
      3_000_000,
      () => many(line('GET', LARGE), 50_000, MORE_THAN_THE_KERNEL_BUFFERS.later),
    ],
    ['if the responses are 304', 0, () => many(line('GET', LARGE, 'If-None-Match: *\r\n'), 500)],
    ['if it sends preflights, which need no key', 0, () => many(line('OPTIONS', LARGE), 500)],
    ['if the responses are errors', 0, () => many(line('GET', '/api/v1/nothing'), 500)],
  ])('%s', async ([, toRead, bytes], { expect }) => {
    const socket = connect(proxy.port, '127.0.0.1').on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    let received = 0;
    socket.on('data', (part) => {
      received += part.length;
      if (received >= toRead) socket.pause();
    });
    if (toRead === 0) socket.pause();
    const started = performance.now();
    socket.write(bytes());
    await until(() => received >= toRead);
    await pause(1_000);
    expect(heldPorts()).toContain(socket.localPort);
    const gone = await waitUntilDropped(socket.localPort ?? 0, started);
    expect(gone).toBeLessThan(READERS_GONE_MS);
    socket.destroy();
  });
});
