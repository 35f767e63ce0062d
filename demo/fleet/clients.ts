/** The clients of the demo: they send requests through nginx, and count who answered them and how. */
import { setTimeout as pause } from 'node:timers/promises';

/**
 * Sends requests until the process ends.
 * @param urls requested in turn
 * @param perSecond how many
 */
export function startClients(urls: readonly string[], key: string, perSecond: number) {
  /** By the address of the proxy that answered, such as "127.0.0.1:40001". */
  const counts = new Map<string, { admitted: number; refused: number }>();
  const countsOf = (address: string) => counts.get(address) ?? { admitted: 0, refused: 0 };
  /** When requests were admitted in the last minute, by `performance.now()`. */
  let admittedAt: number[] = [];
  let failures = 0;

  async function send(url: string): Promise<void> {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    const proxy = response.headers.get('x-demo-proxy') ?? '';
    const { admitted, refused } = countsOf(proxy);
    if (response.status === 200) {
      counts.set(proxy, { admitted: admitted + 1, refused });
      admittedAt.push(performance.now());
    } else if (response.status === 429) counts.set(proxy, { admitted, refused: refused + 1 });
    else failures++;
  }

  async function run(): Promise<never> {
    for (let sent = 0; ; sent++) {
      send(urls[sent % urls.length]).catch(() => failures++);
      await pause(1000 / perSecond);
    }
  }

  void run();
  return {
    /** What the proxy at this port has answered. */
    countsOf: (port: number) => countsOf(`127.0.0.1:${port}`),
    /** How many requests failed: neither admitted nor refused because of the limit. */
    failed: () => failures,
    /** How many requests were admitted in the last 60 seconds, by all proxies together. */
    admittedInMinute() {
      const now = performance.now();
      admittedAt = admittedAt.filter((time) => now - time < 60_000);
      return admittedAt.length;
    },
  };
}
