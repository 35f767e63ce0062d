/** Makes an assembled proxy listen, and stops it without losing a request. */
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { listenAll } from '../program/listen.ts';
import type { ProxyEnvironment, ProxyParts } from './assemble.ts';

/** How long load balancers have to notice that this proxy is not ready before it stops listening. */
export const NOTICE_MS = 500;

/** Resolves when all threads listen. The polling must have started before. */
export async function listen(
  { admin, serving, workers, state }: ProxyParts,
  environment: ProxyEnvironment,
): Promise<void> {
  await listenAll([
    {
      server: admin,
      host: environment.ADMIN_HOST,
      port: environment.ADMIN_PORT,
      variables: ['ADMIN_HOST', 'ADMIN_PORT'],
    },
    {
      server: serving.server,
      host: environment.HOST,
      port: environment.PORT,
      variables: ['HOST', 'PORT'],
      reusePort: environment.PROXY_THREADS > 1,
    },
  ]);
  if (state.isStopping) return;
  const { address, port } = serving.server.address() as AddressInfo;
  await workers.listen(port, address);
}

/**
 * Lets the requests under way finish, and ends all threads.
 * @param noticeMs how long the proxy still listens
 * @param pause waits for so many milliseconds
 */
export async function stop(
  proxy: ProxyParts,
  noticeMs: number,
  pause: (milliseconds: number) => Promise<unknown> = sleep,
): Promise<void> {
  const { admin, serving, workers, snapshots, changes, accessLog, polling, state } = proxy;
  state.isStopping = true;
  serving.announceEnd();
  workers.announceEnd();
  await pause(noticeMs);
  polling.stop();
  await Promise.all([serving.close(), workers.close()]);
  changes.close();
  snapshots.close();
  await polling.finish();
  await accessLog.close();
  admin.close();
  admin.closeAllConnections();
}
