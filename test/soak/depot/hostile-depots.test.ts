/**
 * Whatever the depot of snapshots does, a key that is revoked stops working at the origin, and at a replica that gets
 * its keys through another depot. Programs, because each reads depots in a thread of its own.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import { makeSampleSnapshots, makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { startSchedule } from '#test/generator/schedule/start-schedule.ts';
import { NEVER, runKeys, startLogged, startProxy } from '#test/support/product.ts';
import { newDepotFolder } from '#test/support/replicas.ts';
import { serve } from '#test/support/servers/static-files.ts';

/** Sends a list of S3. There is no other object. */
const listing = (content: () => string) => (request: IncomingMessage, response: ServerResponse) => {
  if (!request.url?.includes('list-type=2')) return response.writeHead(404).end();
  return response.end(`<ListBucketResult>${content()}</ListBucketResult>`);
};
let token = 0;

test.concurrent.each([
  [
    'sends one byte a second',
    (_request: IncomingMessage, response: ServerResponse) => {
      response.write('{');
      const timer = setInterval(() => response.write(' '), 1_000);
      response.once('close', () => clearInterval(timer));
    },
  ],
  ['never ends', listing(() => `<NextContinuationToken>${++token}</NextContinuationToken>`)],
  ['sends 4 MB of nonsense', listing(() => '<Contents>'.repeat(400_000))],
])('while a depot %s, a revoked key stops working everywhere', async (_name, answer) => {
  const asked = Promise.withResolvers<void>();
  const url = await serve((request, response) => {
    answer(request, response);
    // What answers the release with 404 is asked for a list next.
    if (response.statusCode === 200) asked.resolve();
  });
  const KEYS_DEPOT = newDepotFolder();
  const s3 = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'x', AWS_ENDPOINT_URL_S3: url };
  const databaseUrl = await makeSampleSqlite();
  const key = (await runKeys(databaseUrl, ['issue'])).stdout.trim();
  const origin = await makeSampleSnapshots();
  const schedule = startSchedule(databaseUrl, origin, {
    ...{ ...s3, KEYS_DEPOT, GENERATE_CRON: 'off', SNAPSHOT_PUSH: 's3://catalogue' },
  });
  const edge = await makeSampleSnapshots();
  const variables = { ...s3, KEYS_DEPOT, SNAPSHOTS_DIR: edge, REPLICA_FROM: 's3://catalogue' };
  const replica = startLogged('replica', [], variables);
  await replica.logged('the keys have changed');
  await asked.promise;
  const proxies = [await startProxy(origin, {}, NEVER), await startProxy(edge, {}, NEVER)];
  const statuses = () =>
    Promise.all(
      proxies.map(async (proxy) => {
        await proxy.refresh();
        return (await proxy.get('/stats', key)).status;
      }),
    );
  expect(await statuses()).toEqual([200, 200]);
  await runKeys(databaseUrl, ['revoke', '1', '--reason', 'a test']);
  await replica.logged('the keys have changed', 2);
  expect(await statuses()).toEqual([401, 401]);
  await Promise.all([replica.kill(), schedule.kill()]);
});
