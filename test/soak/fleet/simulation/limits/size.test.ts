/** What a fleet of 1 to 1,000 proxies sends to the store, and how soon it recovers from a restart. */
import { expect, test } from 'vitest';
import { makeRandom } from '../../../../catalogue/random.ts';
import { printFigure, rounds } from '../../../rounds.ts';
import { makeScheduler } from '../scheduler.ts';
import { type FleetParts, startProxyProgram } from './fleet.ts';
import { makeNetwork } from './network.ts';

const RESTART_AT_MS = 70_000;
const LONGEST_MS = 20_000;

test.each([1, 10, 100, rounds(200, 1_000)])(
  '%i proxies send one short command a second each, and all recover when the store restarts',
  async (count) => {
    const random = makeRandom(count);
    const scheduler = makeScheduler();
    const network = makeNetwork(scheduler, random);
    const parts: FleetParts = {
      scheduler,
      network,
      random,
      failure: 'refuse',
      limits: [120],
      decide: () => {},
    };
    const proxies = Array.from({ length: count }, (_, i) =>
      startProxyProgram(parts, `proxy-${i}-of-${count}`),
    );
    const areReady = () => proxies.every(({ fleet }) => fleet.epoch() !== undefined);

    await scheduler.runUntil(RESTART_AT_MS - 5_000);
    expect(areReady()).toBe(true);
    const before = network.traffic();
    await scheduler.runUntil(RESTART_AT_MS - 1_000);
    const after = network.traffic();
    const perSecond = (after.commands - before.commands) / 4;
    const characters = (after.characters - before.characters) / 4 / perSecond;
    expect(perSecond).toBeLessThanOrEqual(count * 1.01 + 1);
    // Independent of the number of proxies.
    expect(characters).toBeLessThan(500);

    await scheduler.runUntil(RESTART_AT_MS);
    network.crash();
    network.restart();
    let recovered = RESTART_AT_MS;
    do {
      recovered += 100;
      await scheduler.runUntil(recovered);
    } while (!areReady() && recovered < RESTART_AT_MS + LONGEST_MS);
    const recovery = network.traffic();
    expect(areReady()).toBe(true);
    const seconds = (recovered - RESTART_AT_MS) / 1000;
    printFigure(
      'shared limits',
      `${count} proxies: ${perSecond.toFixed(1)} heartbeats a second of ${characters.toFixed(0)} characters; after a restart all share again within ${seconds} s, with ${recovery.commands - after.commands} commands of ${((recovery.characters - after.characters) / 1e6).toFixed(2)} million characters`,
    );
  },
);
