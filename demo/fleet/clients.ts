/** The clients of the demo: they send requests through nginx, and count who answered them and how. */
import { setTimeout as pause } from 'node:timers/promises';

/** What happened at one proxy. */
export interface ProxyCounts {
  admitted: number;
  refused: number;
}

export interface Clients {
  /** By the address of the proxy that answered, such as "127.0.0.1:40001". */
  readonly byProxy: ReadonlyMap<string, ProxyCounts>;
  /** How many requests failed: neither admitted nor refused because of the limit. */
  failed(): number;
  /** How many requests were admitted in the last 60 seconds, by all proxies together. */
  admittedInMinute(): number;
}

/**
 * Sends requests until the process ends.
 * @param urls requested in turn
 * @param perSecond how many
 */
export function startClients(urls: readonly string[], key: string, perSecond: number): Clients {
  const byProxy = new Map<string, ProxyCounts>();
  /** When requests were admitted in the last minute, by `performance.now()`. */
  let admittedAt: number[] = [];
  let failures = 0;

  async function send(url: string): Promise<void> {
    const response = await fetch(url, { headers: { Authorization: `Bearer ${key}` } });
    await response.arrayBuffer();
    const proxy = response.headers.get('x-demo-proxy') ?? '';
    const counts = byProxy.get(proxy) ?? { admitted: 0, refused: 0 };
    byProxy.set(proxy, counts);
    if (response.status === 200) {
      counts.admitted++;
      admittedAt.push(performance.now());
    } else if (response.status === 429) counts.refused++;
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
    byProxy,
    failed: () => failures,
    admittedInMinute() {
      const now = performance.now();
      admittedAt = admittedAt.filter((time) => now - time < 60_000);
      return admittedAt.length;
    },
  };
}
