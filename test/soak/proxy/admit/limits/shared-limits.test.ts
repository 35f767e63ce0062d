/**
 * A limit of 120 over several real proxies and a real Redis, with 20 keys and random load. What
 * happened is judged from outside, by the times at which requests were sent and responses came.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { makeRandom, type Random } from '#demo/catalogue/random.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { until } from '#test/soak/support/until.ts';
import { type ProxyProgram, startProxyProgram, testKey } from '#test/support/product.ts';
import { shared } from '#test/support/shared.ts';

const LIMIT = 120;
const KEYS = 20;
const WINDOW_MS = 60_000;
/** How long the load lasts. */
const SECONDS = IS_FULL ? 75 : 6;
/** The longest pause for each request of a burst. The limit is reached within the time of the load. */
const PAUSE_MS = IS_FULL ? 400 : 60;

type Ask = () => Promise<{ status: number }>;

/** A request that a client has sent: its status, and when it was sent and its response was there. */
interface Sent {
  readonly status: number;
  readonly from: number;
  readonly to: number;
}

/** The largest number of requests that certainly were admitted within one minute. */
function mostInAMinute(sent: readonly Sent[]): number {
  const admitted = sent.filter(({ status }) => status === 200);
  const counts = admitted.map(
    ({ from }) => admitted.filter((each) => each.from >= from && each.to < from + WINDOW_MS).length,
  );
  return Math.max(...counts);
}

/** Sends requests with one key in random bursts. @returns what happened to each */
async function load(ask: Ask, random: Random, end: number): Promise<Sent[]> {
  const sent: Sent[] = [];
  const underWay: Promise<void>[] = [];
  const one = async () => {
    const from = performance.now();
    const { status } = await ask();
    sent.push({ from, to: performance.now(), status });
  };
  while (performance.now() < end) {
    const burst = random.happens(0.1) ? 1 + random.below(80) : 1 + random.below(6);
    for (let i = 0; i < burst; i++) underWay.push(one());
    await sleep(Math.min(random.next() * burst * PAUSE_MS, Math.max(0, end - performance.now())));
  }
  await Promise.all(underWay);
  return sent;
}

/** The refusals before which fewer than the limit can have been admitted. */
function tooEarly(sent: readonly Sent[]): Sent[] {
  return sent.filter(({ status, from, to }) => {
    if (status !== 429) return false;
    const possible = sent.filter(
      (each) => each.status === 200 && each.from <= to && each.to > from - WINDOW_MS,
    );
    return possible.length < LIMIT;
  });
}

/** How many requests the proxies have decided without the store. */
async function decidedAlone(proxies: readonly ProxyProgram[]): Promise<number> {
  const metrics = await Promise.all(proxies.map((proxy) => proxy.metrics()));
  const count = (text: string) =>
    Number(/^limits_decisions_total\{by="proxy"\} (\d+)$/m.exec(text)?.[1]);
  return metrics.map(count).reduce((sum, each) => sum + each, 0);
}

test.each(IS_FULL ? [2, 4, 8] : [2])(
  'over %i proxies, no minute has more than 120 requests, and none is refused below that',
  async (count) => {
    const keys = Array.from({ length: KEYS }, (_, i) => testKey(count * 100 + i, { limit: LIMIT }));
    const dir = await makeSampleSnapshots(keys);
    const { url: LIMITS_URL } = await shared('redis');
    const proxies = await Promise.all(
      Array.from({ length: count }, () => startProxyProgram(dir, { LIMITS_URL })),
    );
    await until(async () => {
      const states = await Promise.all(proxies.map((proxy) => proxy.readyz()));
      return states.every(({ json }) => json.limits.mode === 'shared');
    });
    const end = performance.now() + SECONDS * 1000;
    const histories = await Promise.all(
      keys.map(({ id, key }) => {
        const random = makeRandom(id);
        return load(() => random.pick(proxies).get('/stats', key), random, end);
      }),
    );
    const most = histories.map(mostInAMinute);
    const all = histories.flat();
    const alone = await decidedAlone(proxies);
    // On a machine that is too busy, the store does not always answer in time.
    expect(Math.max(...most)).toBeLessThanOrEqual(alone > 0 ? count * LIMIT : LIMIT);
    if (alone === 0) {
      expect(Math.max(...most)).toBe(LIMIT);
      expect(histories.flatMap(tooEarly)).toEqual([]);
    }
    expect(all.filter(({ status }) => status !== 200 && status !== 429)).toEqual([]);
    const refused = all.filter(({ status }) => status === 429).length;
    printFigure(
      'shared limits',
      `${count} proxies, ${SECONDS} s: ${all.length} requests, ${refused} refused, at most ${Math.max(...most)} in a minute, ${alone} decided without the store`,
    );
    await Promise.all(proxies.map((proxy) => proxy.stop()));
  },
);
