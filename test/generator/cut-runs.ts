/** Runs of the generator whose connection to the server goes through a proxy that can cut it. */
import { currentId } from '#lib/generations/generations.ts';
import { sharedServer } from '#test/support/databases.ts';
import { generate } from '#test/support/product.ts';
import { startTcpProxy, type TcpProxy } from '#test/support/servers/tcp-proxy.ts';
import { newSnapshots } from '#test/support/wholeness.ts';

/** @param limit the bytes after which no more pass; then with a timeout of 1 s. @returns the address through it */
export async function startCutter(url: string, limit?: number): Promise<[string, TcpProxy]> {
  const proxy = await startTcpProxy((await sharedServer()).port, limit);
  const through = new URL(url);
  through.port = String(proxy.port);
  // A whole run must not fail on a busy machine.
  if (limit !== undefined) through.searchParams.set('timeout', '1');
  return [through.href, proxy];
}

/** @returns the id of a whole first generation, and how many bytes its run exchanges with the server */
export async function measureWhole(url: string): Promise<{ id: string; bytes: number }> {
  const [through, proxy] = await startCutter(url);
  const dir = newSnapshots();
  await generate(through, dir);
  await proxy.stop();
  return { id: currentId(dir) as string, bytes: proxy.bytes() };
}
