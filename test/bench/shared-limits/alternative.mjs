/**
 * A fastify server with one response in memory and a rate limit: @fastify/rate-limit or
 * rate-limiter-flexible, each in this process or, with LIMITS_URL, in Redis.
 */
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { Redis } from 'ioredis';
import { RateLimiterMemory, RateLimiterRedis } from 'rate-limiter-flexible';

const MOST = 100_000_000;
const keys = new Set(process.env.BENCH_KEYS.split(','));
const body = Buffer.from(process.env.BENCH_BODY, 'base64');
const redis = process.env.LIMITS_URL
  ? new Redis(process.env.LIMITS_URL, { enableOfflineQueue: false, connectTimeout: 1000 })
  : undefined;
if (redis !== undefined) await new Promise((resolve) => redis.once('ready', resolve));

const app = fastify({ logger: false });
app.addHook('onRequest', (request, reply, done) => {
  if (keys.has(request.headers['x-api-key'])) done();
  else reply.code(401).send({ error: 'Missing API key' });
});
if (process.env.BENCH_ENGINE === 'fastify') {
  await app.register(rateLimit, {
    max: MOST,
    timeWindow: 60_000,
    keyGenerator: (request) => request.headers['x-api-key'],
    ...(redis === undefined ? {} : { redis }),
  });
} else {
  const options = { points: MOST, duration: 60 };
  const limiter =
    redis === undefined
      ? new RateLimiterMemory(options)
      : new RateLimiterRedis({ ...options, storeClient: redis });
  app.addHook('onRequest', async (request, reply) => {
    const { remainingPoints, msBeforeNext } = await limiter.consume(request.headers['x-api-key']);
    reply
      .header('X-RateLimit-Limit', MOST)
      .header('X-RateLimit-Remaining', remainingPoints)
      .header('X-RateLimit-Reset', Math.ceil(msBeforeNext / 1000));
  });
}
app.get('/api/v1/*', (_request, reply) => {
  reply.type('application/json; charset=utf-8').send(body);
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
