/**
 * A real Redis server on loopback for tests, with a password and without files. It ends
 * at the latest with the process that started it.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Redis } from 'ioredis';
import { startTiedUntil, type TiedServer } from '#test/support/processes.ts';
import { freePort } from './ports.ts';

/** Contains characters that an address must encode. */
export const REDIS_PASSWORD = 'p@ss:w/rd?#%';

/** @param options further arguments of redis-server */
export async function startRedis(options: readonly string[] = []) {
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-redis-'));
  const port = await freePort();

  function start(): Promise<TiedServer> {
    const place = ['--port', String(port), '--bind', '127.0.0.1', '--dir', folder];
    const own = ['--save', '', '--requirepass', REDIS_PASSWORD, '--masterauth', REDIS_PASSWORD];
    const command = ['redis-server', ...place, ...own, ...options];
    return startTiedUntil('Ready to accept connections', command, { signal: 'KILL' });
  }

  let server = await start();
  const client = new Redis({ port, password: REDIS_PASSWORD, lazyConnect: true });
  client.on('error', () => {});
  await client.connect();
  return {
    port,
    /** For `LIMITS_URL`. */
    url: `redis://:${encodeURIComponent(REDIS_PASSWORD)}@127.0.0.1:${port}`,
    /** A connection for the test. It reconnects after a restart. */
    client,
    /** Suspends the process: the server accepts connections but does not answer. */
    freeze: () => void process.kill(server.pid, 'SIGSTOP'),
    thaw: () => void process.kill(server.pid, 'SIGCONT'),
    /** Blocks this thread until the server has answered all that was sent to it before. */
    answerAll: () =>
      void execFileSync('redis-cli', ['-p', String(port), 'ping'], {
        env: { ...process.env, REDISCLI_AUTH: REDIS_PASSWORD },
      }),
    /** Kills the server as a crash would. */
    kill: () => server.stop(),
    /** Starts a killed server on the same port, without its data. */
    async restart() {
      server = await start();
    },
    async stop() {
      client.disconnect();
      await server.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
