/** fastify with @fastify/rate-limit, and every response in memory: plain, and gzip if there is a file. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import { findKey, targets } from './key-check.mjs';

const bodies = new Map();
for await (const { target, file } of targets()) {
  const bytes = readFileSync(file);
  const etag = `"${createHash('sha1').update(bytes).digest('hex')}"`;
  const gzip = existsSync(`${file}.gz`) ? readFileSync(`${file}.gz`) : undefined;
  bodies.set(target, { bytes, etag, gzip, gzipEtag: `${etag.slice(0, -1)}-gzip"` });
}

const app = fastify({ logger: false });
app.addHook('onRequest', (request, reply, done) => {
  if (findKey(request.headers['x-api-key']) === undefined) {
    reply.code(401).header('WWW-Authenticate', 'Bearer').send({ error: 'Missing API key' });
  } else done();
});
await app.register(rateLimit, {
  max: 100_000_000,
  timeWindow: 60_000,
  keyGenerator: (request) => request.headers['x-api-key'],
});
app.get('/api/v1/*', (request, reply) => {
  const found = bodies.get(request.url);
  if (found === undefined) {
    reply.code(404).send({ error: 'Not found' });
    return;
  }
  const isGzip = found.gzip !== undefined && request.headers['accept-encoding'] === 'gzip';
  const etag = isGzip ? found.gzipEtag : found.etag;
  reply.header('ETag', etag).header('Cache-Control', 'private, no-cache');
  if (request.headers['if-none-match'] === etag) {
    reply.code(304).send();
    return;
  }
  reply.header('Vary', 'Accept-Encoding').type('application/json; charset=utf-8');
  if (isGzip) reply.header('Content-Encoding', 'gzip');
  reply.send(isGzip ? found.gzip : found.bytes);
});
await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
