/**
 * The API with fastify and @fastify/rate-limit. With BENCH_TARGETS it has all responses in memory. With
 * BENCH_DATABASE it queries MariaDB at each request, through a mysql2 pool with prepared statements; the database
 * has every index that the queries can use.
 */
import { readFileSync } from 'node:fs';
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import mysql from 'mysql2/promise';

const SITE = 'https://covers.example/en';
const { BENCH_KEYS, BENCH_FILES, BENCH_TARGETS, BENCH_DATABASE } = process.env;
const keys = new Set(BENCH_KEYS.split(','));

// By default, a longer slug is not found.
const app = fastify({ logger: false, routerOptions: { maxParamLength: 500 } });
app.addHook('onRequest', (request, reply, done) => {
  if (keys.has(request.headers['x-api-key'])) done();
  else reply.code(401).send({ error: 'Missing API key' });
});
await app.register(rateLimit, {
  max: 100_000_000,
  timeWindow: 60_000,
  keyGenerator: (request) => request.headers['x-api-key'],
});
if (BENCH_TARGETS) serveFromMemory();
else serveLive();
const address = await app.listen({ port: 0, host: '127.0.0.1' });
process.stderr.write(`listening on ${address}\n`);

function serveFromMemory() {
  const targets = readFileSync(BENCH_TARGETS, 'utf8').split('\n');
  const bodies = new Map(
    targets.map((target) => [target, readFileSync(BENCH_FILES + target.split('?', 1)[0])]),
  );
  app.get('/api/v1/*', (request, reply) => {
    const body = bodies.get(request.url);
    if (body === undefined) reply.code(404).send({ error: 'Not found' });
    else {
      reply.header('Cache-Control', 'private, no-cache').header('Vary', 'Accept-Encoding');
      reply.type('application/json; charset=utf-8').send(body);
    }
  });
}

function serveLive() {
  const pool = mysql.createPool({
    uri: BENCH_DATABASE,
    connectionLimit: 10,
    dateStrings: true,
    supportBigNumbers: true,
  });
  const query = async (sql, values) => (await pool.execute(sql, values))[0];
  const select = `SELECT g.id, g.slug, g.title, g.release_year, g.description, g.genres, g.developer,
    g.publisher, (SELECT COUNT(*) FROM covers c WHERE c.game_id = g.id AND c.status = 'approved')
    AS cover_count, p.slug AS platform_slug, p.name AS platform_name FROM games g JOIN platforms p ON
    p.id = g.platform_id`;

  app.get('/api/v1/games/:platform/:game', async (request, reply) => {
    const { platform, game } = request.params;
    const [row] = await query(`${select} WHERE p.slug = ? AND g.slug = ?`, [platform, game]);
    if (row === undefined) reply.code(404).send({ error: 'Not found' });
    else send(reply, toGame(row));
    return reply;
  });

  app.get('/api/v1/platforms/:platform/games', async (request, reply) => {
    await sendPage(
      ...[request, reply, 'p.slug = ?', request.params.platform],
      'platform_id = (SELECT id FROM platforms WHERE slug = ?)',
    );
    return reply;
  });

  app.get('/api/v1/search', async (request, reply) => {
    const words = request.query.q.split(' ');
    const terms = `${words.map((word) => `+${word}`).join(' ')}*`;
    const match = (column) => `MATCH(${column}) AGAINST(? IN BOOLEAN MODE)`;
    await sendPage(request, reply, match('g.title'), terms, match('title'));
    return reply;
  });

  async function sendPage(request, reply, condition, value, countCondition) {
    const page = Number(request.query.page ?? 1);
    const per_page = Number(request.query.per_page ?? 50);
    const limits = [String(per_page), String((page - 1) * per_page)];
    const [rows, [{ total }]] = await Promise.all([
      query(`${select} WHERE ${condition} ORDER BY g.title LIMIT ? OFFSET ?`, [value, ...limits]),
      query(`SELECT COUNT(*) AS total FROM games WHERE ${countCondition}`, [value]),
    ]);
    const total_pages = Math.ceil(total / per_page);
    send(reply, { data: rows.map(toGame), page, per_page, total, total_pages });
  }

  function toGame({ platform_slug, platform_name, ...game }) {
    const url = `${SITE}/platform/${platform_slug}/game/${game.slug}`;
    return { ...game, platform: { slug: platform_slug, name: platform_name }, url };
  }

  function send(reply, body) {
    // Serialised here; without a schema, fastify would also use JSON.stringify.
    reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
  }
}
