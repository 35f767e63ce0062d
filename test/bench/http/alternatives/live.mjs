/**
 * The API without a snapshot: fastify queries MariaDB at each request through a mysql2 pool with
 * prepared statements, and uses JSON.stringify. The database has every index that its queries can use.
 */
import rateLimit from '@fastify/rate-limit';
import fastify from 'fastify';
import mysql from 'mysql2/promise';
import { findKey } from './key-check.mjs';

const SITE = process.env.BENCH_SITE;
const FILES = process.env.BENCH_FILES_URL;
const pool = mysql.createPool({
  uri: process.env.BENCH_DATABASE,
  connectionLimit: 10,
  dateStrings: true,
  supportBigNumbers: true,
});

const GAME = `SELECT g.id, g.slug, g.title, g.release_year, g.description, g.genres, g.developer,
  g.publisher, (SELECT COUNT(*) FROM covers c WHERE c.game_id = g.id AND c.status = 'approved')
  AS cover_count, p.slug AS platform_slug, p.name AS platform_name FROM games g JOIN platforms p ON
  p.id = g.platform_id`;

function toGame({ platform_slug, platform_name, ...game }) {
  const url = `${SITE}/platform/${platform_slug}/game/${game.slug}`;
  return { ...game, platform: { slug: platform_slug, name: platform_name }, url };
}

async function query(sql, values) {
  const [rows] = await pool.execute(sql, values);
  return rows;
}

const app = fastify({ logger: false });
app.addHook('onRequest', (request, reply, done) => {
  if (findKey(request.headers['x-api-key']) === undefined) {
    reply.code(401).send({ error: 'Missing API key' });
  } else done();
});
await app.register(rateLimit, {
  max: 100_000_000,
  timeWindow: 60_000,
  keyGenerator: (request) => request.headers['x-api-key'],
});

function send(reply, body) {
  // Serialised here; without a schema, fastify would also use JSON.stringify.
  reply.type('application/json; charset=utf-8').send(JSON.stringify(body));
}

app.get('/api/v1/games/:platform/:game', async (request, reply) => {
  const { platform, game } = request.params;
  const [row] = await query(`${GAME} WHERE p.slug = ? AND g.slug = ?`, [platform, game]);
  if (row === undefined) reply.code(404).send({ error: 'Not found' });
  else send(reply, toGame(row));
  return reply;
});

app.get('/api/v1/platforms/:platform/games', async (request, reply) => {
  const { platform } = request.params;
  const page = Number(request.query.page ?? 1);
  const perPage = Number(request.query.per_page ?? 50);
  const [rows, [{ total }]] = await Promise.all([
    query(`${GAME} WHERE p.slug = ? ORDER BY g.title LIMIT ? OFFSET ?`, [
      ...[platform, String(perPage), String((page - 1) * perPage)],
    ]),
    query(
      'SELECT COUNT(*) AS total FROM games WHERE platform_id = (SELECT id FROM platforms WHERE slug = ?)',
      [platform],
    ),
  ]);
  sendPage(reply, rows, page, perPage, total);
  return reply;
});

app.get('/api/v1/search', async (request, reply) => {
  const page = Number(request.query.page ?? 1);
  const perPage = Number(request.query.per_page ?? 50);
  const words = request.query.q.split(' ');
  const terms = `${words.map((word) => `+${word}`).join(' ')}*`;
  const [rows, [{ total }]] = await Promise.all([
    query(
      `${GAME} WHERE MATCH(g.title) AGAINST(? IN BOOLEAN MODE) ORDER BY g.title LIMIT ? OFFSET ?`,
      [terms, String(perPage), String((page - 1) * perPage)],
    ),
    query('SELECT COUNT(*) AS total FROM games WHERE MATCH(title) AGAINST(? IN BOOLEAN MODE)', [
      terms,
    ]),
  ]);
  sendPage(reply, rows, page, perPage, total);
  return reply;
});

app.get('/api/v1/covers/recent', async (_request, reply) => {
  const covers = await query(
    `SELECT c.id, c.region, c.type, c.approved_at, g.slug, g.title, p.slug AS platform_slug,
    p.name AS platform_name FROM covers c JOIN games g ON g.id = c.game_id JOIN platforms p ON
    p.id = g.platform_id WHERE c.status = 'approved' AND c.approved_at IS NOT NULL
    ORDER BY c.approved_at DESC, c.id DESC LIMIT 100`,
    [],
  );
  const files = await query(
    `SELECT cover_id, id, variant, mime_type, width, height, size_bytes, path FROM cover_files
    WHERE cover_id IN (${covers.map(() => '?').join(',') || 'NULL'}) ORDER BY id`,
    covers.map(({ id }) => id),
  );
  const filesOf = Map.groupBy(files, ({ cover_id }) => cover_id);
  send(reply, {
    data: covers.map(({ id, region, type, approved_at, slug, title, ...platform }) => ({
      id,
      region,
      type,
      approved_at: `${approved_at.replace(' ', 'T')}Z`,
      game: {
        slug,
        title,
        platform: { slug: platform.platform_slug, name: platform.platform_name },
      },
      files: (filesOf.get(id) ?? []).map(({ cover_id, path, ...file }) => ({
        ...file,
        url: /^https?:/.test(path) ? path : `${FILES}/${path}`,
      })),
    })),
  });
  return reply;
});

function sendPage(reply, rows, page, perPage, total) {
  const total_pages = Math.ceil(total / perPage);
  send(reply, { data: rows.map(toGame), page, per_page: perPage, total, total_pages });
}

await app.listen({ port: Number(process.env.PORT), host: '127.0.0.1' });
