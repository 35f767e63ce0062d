/**
 * A fleet with stores in S3, behind the real nginx: clients notice nothing when its edges are restarted
 * one after the other, and limits stay exact during the restarts.
 */
import { beforeAll, expect, test } from 'vitest';
import { seededCatalogue } from '../../catalogue/seeded.ts';
import { startFrontClients } from '../../support/servers/front-clients.ts';
import { sendHttp1 } from '../../support/servers/nginx.ts';
import { startS3 } from '../../support/servers/s3.ts';
import { IS_SOAK, printFigure, rounds } from '../rounds.ts';
import { startSwift } from '../support/servers/swift.ts';
import { until } from '../support/until.ts';
import { mostInAMinute, type Sent } from './admitted.ts';
import { type Fleet, hasKeys, startFleet, storesInS3 } from './fleet.ts';

const PROMISE = 'Fleet, rolling restarts';
const RESTARTS = rounds(1, 20);
const CLIENTS = { connections: 20, streams: 10 };
const STATS = '/api/v1/stats';
const LIMIT = 30;

let fleet: Fleet;

beforeAll(async () => {
  const s3 = await (IS_SOAK ? startSwift() : startS3());
  fleet = await startFleet(seededCatalogue({ games: 2_000, seed: 6 }), storesInS3(s3));
  fleet.startSchedule();
});

test('a rolling restart of the fleet loses no request and resets no limit', {
  timeout: rounds(120_000, 3_600_000),
}, async () => {
  const key = await fleet.keys('issue', '--limit', '1000000');
  const limited = await fleet.keys('issue', '--limit', String(LIMIT));
  const send = (sent: string) => sendHttp1(fleet.nginx, STATS, { headers: { 'x-api-key': sent } });
  for (const { proxy } of fleet.edges) await hasKeys(proxy, 2);
  const headers = { 'x-api-key': key };
  const clients = await startFrontClients(
    fleet.nginx,
    [
      { method: 'GET', path: STATS, headers },
      { method: 'GET', path: '/api/v1/search?per_page=100', headers },
      { method: 'HEAD', path: '/api/v1/platforms', headers },
    ],
    CLIENTS,
  );
  const sent: Sent[] = [];
  const spend = async () => {
    const from = performance.now();
    const { status } = await send(limited);
    sent.push({ status, from, to: performance.now() });
  };
  for (let i = 0; i < LIMIT - 5; i++) await spend();
  // Both proxies take part.
  for (const { proxy } of fleet.edges) {
    await until(async () => /api_requests_total\{/.test(await proxy.metrics()));
  }
  for (let i = 0; i < RESTARTS; i++) {
    for (const edge of fleet.edges) {
      await edge.restart();
      for (let more = 0; more < 10; more++) await spend();
    }
  }
  await clients.stop();
  expect(clients.faults().slice(0, 20)).toEqual([]);
  expect(mostInAMinute(sent)).toBeLessThanOrEqual(LIMIT);
  expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([200, 429]));
  printFigure(PROMISE, `${RESTARTS} rolling restarts, ${clients.count()} requests: 0 lost`);
});
