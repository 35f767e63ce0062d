/**
 * Follows operations/from-your-site.md, statement by statement, on a real server: a catalogue whose tables have
 * other names, with every kind of row that its views correct, until its pictures are on the pages.
 */
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { configuration } from '#cli/doctor/checks/configuration.ts';
import { keys, sample } from '#cli/doctor/checks/database.ts';
import { grants } from '#cli/doctor/checks/grants.ts';
import { runGenerator } from '#cli/generate.ts';
import { runKeys } from '#cli/keys.ts';
import { openDatabase } from '#lib/database/open.ts';
import { examine } from '#test/cli/doctor/examine.ts';
import { change, makeDatabase, sharedServer } from '#test/support/databases.ts';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { makeFolder, ROOT, runCommand, send, startProxy } from '#test/support/product.ts';
import { runNginx } from '#test/support/servers/nginx.ts';
import { freePort } from '#test/support/servers/ports.ts';

const page = readFileSync(path.join(ROOT, 'operations/from-your-site.md'), 'utf8');
/** The blocks of code of a document in a language. */
const blocksOf = (text: string, language: string) =>
  [...text.matchAll(new RegExp(`^\\s*\`\`\`${language}\\n(.*?)^\\s*\`\`\``, 'gms'))].map(
    ([, code = '']) => code,
  );
const blocks = (language: string) => blocksOf(page, language);

// Other tests use the same server at the same time.
const suffix = randomBytes(6).toString('hex');
const names = { site: `colecao_${suffix}`, api: `api_${suffix}`, user: `u${suffix}` };
const own = (text: string) =>
  text
    .replaceAll('colecao.', (found, at, all) =>
      /[\w/]$/.test(all.slice(0, at)) ? found : `${names.site}.`,
    )
    .replaceAll(/(USER |TO )catalogue_api/g, `$1${names.user}`)
    .replaceAll('catalogue_api', names.api);

const ROWS = [
  "consoles VALUES (1, 'SNES', 'Super Nintendo'), (2, 'MD', 'Mega Drive')",
  `jogos VALUES
    (10, 1, 'super-mundo', 'Super Mundo &amp; Amigos', '1991', 'Uma ilha.', 'Ação', 'Estúdio'),
    (11, 1, 'super-mundo', 'Super Mundo', 'desconhecido', NULL, NULL, NULL),
    (12, 2, 'so-verso', 'Só o verso', '1993', NULL, NULL, NULL),
    (13, 2, 'sem-titulo', NULL, '1993', NULL, NULL, NULL)`,
  `capas VALUES (100, 10, 'PT', 'frente', 1, '2020-01-02 03:04:05'), (101, 10, 'PT', 'verso', 1, NULL),
    (102, 12, 'Brasil', 'verso', 1, '2020-01-01 00:00:00'), (103, 11, 'PT', 'frente', 0, NULL), (104, 13, 'PT', 'frente', 1, NULL)`,
  `arquivos VALUES (1000, 100, 'grande', 600, 800, 'snes/100.png'), (1001, 101, 'grande', 600, 800, 'snes/101.png'),
    (1002, 102, 'grande', 600, 800, 'md/102.jpg'), (1003, 104, 'grande', 600, 800, 'md/104.jpg')`,
  "usuarios VALUES (1, 'ze@colecao.example', 'Zé', 9)",
];

/** The pages of the site, with a game that has no title, and is not in the API. */
const SITE_PAGES = new Set(
  [
    '',
    '/contato.php?assunto=api',
    ...[1, 2].map((cod) => `/console.php?id=${cod}`),
    ...['snes&id=10', 'snes&id=11', 'md&id=12', 'md&id=13'].map(
      (game) => `/jogo.php?console=${game}`,
    ),
  ].map((path) => `https://colecao.example${path}`),
);
/** The links of a page to the site. */
const siteLinks = (html: string) =>
  Array.from(html.matchAll(/<a href="(https:\/\/colecao[^"]*)"/g), ([, link = '']) =>
    link.replaceAll('&amp;', '&'),
  );

const server = await sharedServer();
const admin = server.url('mysql');
atEndOfFile(() =>
  change(
    admin,
    `DROP DATABASE ${names.site}`,
    `DROP DATABASE IF EXISTS ${names.api}`,
    `DROP USER IF EXISTS ${names.user}`,
  ),
);
const [tables = '', views = '', rights = ''] = blocks('sql').map(own);
const statements = (text: string) =>
  text
    .replaceAll(/^--.*\n/gm, '')
    .split(/;\n/)
    .filter((sql) => sql.trim() !== '');
await change(
  admin,
  `CREATE DATABASE ${names.site} CHARACTER SET latin1`,
  ...statements(tables),
  ...ROWS.map((row) => `INSERT INTO ${names.site}.${row}`),
  ...statements(views),
  ...statements(rights),
);

const [settings = ''] = blocks('ini');
const snapshotsDir = path.join(makeFolder(), 'snapshots');
const { host } = new URL(admin);
const environment: Record<string, string> = {
  ...Object.fromEntries(
    settings
      .trim()
      .split('\n')
      .map((line) => line.split(/=(.*)/s).slice(0, 2)),
  ),
  SNAPSHOTS_DIR: snapshotsDir,
  DATABASE_URL: `mysql://${names.user}:password@${host}/${names.api}`,
};
const [commands = ''] = blocks('sh');
const [, game = ''] = /http:\/\/127\.0\.0\.1:8080(\/api\/v1\/[^']*)/.exec(commands) ?? [];

async function run(command: typeof runKeys, ...words: string[]) {
  const { code, stdout, stderr } = await runCommand(command, words, environment);
  expect([code, stderr]).toEqual([0, stderr]);
  return stdout.trim();
}

await run(runGenerator);

test('the page leads from tables with other names to pages that show their pictures', async () => {
  for (const check of [configuration, grants, sample, keys]) {
    const findings = await examine(check, environment);
    expect(findings.filter(({ level }) => level === 'error')).toEqual([]);
  }

  const key = await run(runKeys, 'issue', '--limit', '600', '--note', 'first client');
  const setting = await run(runKeys, 'issue', '--for-explorer');
  // As the schedule does.
  await run(runKeys, 'export');
  const { SITE_NAME, SITE_URL, SITE_CONTACT, PUBLIC_URL } = environment;
  const proxy = await startProxy(snapshotsDir, {
    ...{ SITE_NAME, SITE_URL, SITE_CONTACT, PUBLIC_URL },
    EXPLORER_KEY: setting.replace('EXPLORER_KEY=', ''),
  });

  const found = (await send(proxy.url + game, { headers: { authorization: `Bearer ${key}` } }))
    .json;
  expect(found).toMatchObject({
    title: 'Super Mundo & Amigos',
    release_year: 1991,
    url: 'https://colecao.example/jogo.php?console=snes&id=10',
    cover: {
      region: 'PT',
      type: 'frente',
      files: [{ url: 'https://colecao.example/imagens/snes/100.png' }],
    },
  });
  const { data } = (await proxy.get('/search?q=mundo', key)).json;
  expect(data.map(({ slug }: { slug: string }) => slug).toSorted()).toEqual([
    'super-mundo',
    'super-mundo-11',
  ]);

  const explorer = (await send(`${proxy.url}/explore`)).text;
  expect(explorer).toContain('src="https://colecao.example/imagens/snes/100.png"');
  // Only the back of a game without a front is marked, and its region as the site writes it.
  expect(explorer).toContain('src="https://colecao.example/imagens/md/102.jpg"');
  expect(explorer.match(/(?<=class="state">)[^<]+/g)).toEqual(['Verso']);
  expect(explorer.match(/No cover yet/g)).toHaveLength(1);
  expect(explorer).toContain('<span>PT</span>');
  expect(explorer).toContain('<a href="https://colecao.example">Coleção API</a>');
  const start = (await send(proxy.url)).text;
  expect(start).toContain('src="https://colecao.example/imagens/snes/100.png"');
  expect(start.match(/(?<=class="state">)[^<]+/g)).toEqual(['Verso']);

  // No link is dead: neither those of the records, nor those of the pages.
  const { data: platforms } = (await proxy.get('/platforms', key)).json;
  const { data: games } = (await proxy.get('/search', key)).json;
  const links = [...platforms, ...games].map(({ url }: { url: string }) => url);
  expect(links.toSorted()).toEqual([
    'https://colecao.example/console.php?id=1',
    'https://colecao.example/console.php?id=2',
    'https://colecao.example/jogo.php?console=md&id=12',
    'https://colecao.example/jogo.php?console=snes&id=10',
    'https://colecao.example/jogo.php?console=snes&id=11',
  ]);
  const paths = games.map(
    ({ slug, platform }: { slug: string; platform: { slug: string } }) =>
      `/explore/${platform.slug}/${slug}`,
  );
  for (const path of ['/', '/explore', '/explore/snes', '/explore/md', ...paths]) {
    const found = siteLinks((await send(proxy.url + path)).text);
    expect(found.filter((link) => !SITE_PAGES.has(link))).toEqual([]);
    links.push(...found);
  }
  for (const url of SITE_PAGES) if (!url.endsWith('id=13')) expect(links).toContain(url);
});

test('with the lines for nginx, browsers read without a key, and each visitor has a limit', async () => {
  const key = await run(runKeys, 'issue', '--limit', '6000', '--note', 'our pages');
  await run(runKeys, 'export');
  const proxy = await startProxy(snapshotsDir);
  const [zone = '', location = ''] = blocks('nginx');
  expect((zone + location).trim().split('\n').length).toBeLessThanOrEqual(15);
  const port = await freePort();
  // So slow that none is admitted again during the test.
  const lines = `${zone.replace('5r/s', '1r/m')}server {\nlisten 127.0.0.1:${port};\n${location}}\n`
    .replace('127.0.0.1:8080', `127.0.0.1:${proxy.port}`)
    .replace('cck_…', key);
  const folder = makeFolder();
  const main = `pid ${folder}/nginx.pid;\nevents {}\nhttp {\naccess_log off;\n${lines}}\n`;
  await runNginx(folder, main);
  const url = `http://127.0.0.1:${port}${game.replace('/api/v1', '/covers')}`;

  const refused = await fetch(url, { method: 'POST' });
  expect(refused.status).toBe(403);
  const first = await send(url, {
    headers: { authorization: 'Bearer cck_of-a-visitor', cookie: 'a=1' },
  });
  expect([first.status, first.json.title]).toEqual([200, 'Super Mundo & Amigos']);
  expect(first.headers['x-key-id']).toBeUndefined();
  const statuses: number[] = [];
  for (let i = 0; i < 22; i++) statuses.push((await send(url)).status);
  expect([...new Set(statuses)]).toEqual([200, 429]);
  expect((await send(`http://127.0.0.1:${port}/covers/snapshot/archive`)).status).toBe(404);
});

test('the recipes for views correct slugs, missing titles, HTML entities and white space', async () => {
  const url = await makeDatabase('mysql');
  const database = await openDatabase(url);
  const text = readFileSync(path.join(ROOT, 'operations/database.md'), 'utf8');
  const [view = '', ...recipes] = blocksOf(text, 'sql').map((sql) =>
    sql.replaceAll('site.games', 'site_games').replaceAll('catalogue_api.games', 'games'),
  );
  expect(recipes).toHaveLength(5);
  // Each recipe takes the place of the column that it names.
  const views = recipes.map((recipe) => {
    const [, column = ''] = / AS (slug|title)\n$/.exec(recipe) ?? [];
    expect(view).toContain(` g.${column},`);
    return view.replace(`g.${column}`, () => recipe.trim());
  });
  await database.run(
    `CREATE TABLE site_games (id INT, platform_id INT, slug VARCHAR(50), title VARCHAR(50), release_year INT,
      description TEXT, genres TEXT, developer TEXT, publisher TEXT)`,
  );
  await database.run(
    `INSERT INTO site_games (id, platform_id, slug, title) VALUES (1, 1, 'a-b', NULL), (2, 1, 'a-b', ' '),
      (3, 2, 'a-b', 'Q &amp;lt; &#39;R&#39; &quot;S&quot;'), (4, 3, 'é', CONCAT('A  ', CHAR(7), 'B '))`,
  );
  const found: unknown[] = [];
  for (const each of views) {
    for (const sql of statements(each)) await database.run(sql);
    found.push(await database.rows('SELECT slug, title FROM games ORDER BY id'));
  }
  await database.close();
  const entities = 'Q &amp;lt; &#39;R&#39; &quot;S&quot;';
  expect(found).toEqual([
    [
      ['a-b', null],
      ['a-b-2', ' '],
      ['a-b', entities],
      ['é', 'A  \x07B '],
    ],
    [
      ['a-b', null],
      ['a-b', ' '],
      ['a-b', entities],
      ['game-4', 'A  \x07B '],
    ],
    [
      ['a-b', 'a b'],
      ['a-b', 'a b'],
      ['a-b', entities],
      ['é', 'A  \x07B'],
    ],
    [
      ['a-b', null],
      ['a-b', ' '],
      ['a-b', `Q &lt; 'R' "S"`],
      ['é', 'A  \x07B '],
    ],
    [
      ['a-b', null],
      ['a-b', ''],
      ['a-b', entities],
      ['é', 'A B'],
    ],
  ]);
});
