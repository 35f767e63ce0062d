/** The check of the site and its images, with servers that answer as sites do. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { expect, test } from 'vitest';
import type { Finding, SampledAddresses } from '#cli/doctor/check.ts';
import { addresses, tryAddresses } from '#cli/doctor/checks/addresses.ts';
import { sample } from '#cli/doctor/checks/database.ts';
import { makeSampleSqlite } from '#test/catalogue/snapshots.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { listenOn } from '#test/support/servers/sockets.ts';
import { examine } from './examine.ts';

const IMAGE = { 'content-type': 'image/png' };
const FOR_ALL = { ...IMAGE, 'access-control-allow-origin': '*' };
const never = `http://127.0.0.1:${await freePort()}`;

/** What the site answers, by path. */
const site: Readonly<
  Record<string, (response: ServerResponse, request: IncomingMessage) => unknown>
> = {
  '/page': (response) => response.end('<title>SNES</title>'),
  '/moved': (response) => response.writeHead(301, { location: '/page' }).end(),
  '/elsewhere': (response) => response.writeHead(302, { location: `${other}/page` }).end(),
  '/round': (response) => response.writeHead(302, { location: '/round' }).end(),
  '/refused': (response) => response.writeHead(403).end(),
  '/silent': () => {},
  // Nobody reads it to its end.
  '/image': (response) => {
    response.writeHead(200, FOR_ALL);
    const more = () => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536)));
    };
    response.on('drain', more);
    more();
  },
  '/reflecting': (response, { headers }) =>
    response.writeHead(200, { ...IMAGE, 'access-control-allow-origin': headers.origin }).end('x'),
  '/own': (response) =>
    response.writeHead(200, { ...IMAGE, 'access-control-allow-origin': here }).end('x'),
  '/private': (response) => response.writeHead(200, IMAGE).end('x'),
  '/cdn': (response) => response.writeHead(302, { location: '/image' }).end(),
  '/soft-404': (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('?'),
};
const serve = () =>
  createServer((request, response) => {
    const answer = site[request.url ?? ''];
    if (answer === undefined) response.writeHead(404).end();
    else answer(response, request);
  });
const here = `http://127.0.0.1:${await listenOn(serve())}`;
const other = `http://127.0.0.1:${await listenOn(serve())}`;

async function found(sampled: Partial<SampledAddresses>, limitMs?: number) {
  const findings: [Finding['level'], string][] = [];
  await tryAddresses(
    { platform: undefined, game: undefined, image: undefined, ...sampled },
    {
      ok: (text) => findings.push(['ok', text]),
      warn: (text) => findings.push(['warning', text]),
      error: (text) => findings.push(['error', text]),
    },
    limitMs,
  );
  return findings;
}

test.each<[string, Finding['level'], string]>([
  ['/page', 'ok', 'answers'],
  ['/moved', 'ok', 'answers'],
  // It may refuse programs.
  ['/refused', 'ok', 'answers'],
  ['/none', 'warning', 'answers with 404'],
  ['/elsewhere', 'warning', `leads to another site: ${other}/page`],
  ['/round', 'warning', 'more than 5 redirects'],
])('a page that answers like %s is %s', async (target, level, text) => {
  expect(await found({ platform: here + target, game: here + target })).toEqual([
    [level, expect.stringContaining(text)],
    [level, expect.stringContaining(text)],
  ]);
});

test.each<[string, Finding['level'], string]>([
  ['/image', 'ok', 'every page may read it'],
  ['/reflecting', 'ok', 'every page may read it'],
  ['/private', 'warning', 'without Access-Control-Allow-Origin'],
  ['/own', 'warning', 'without Access-Control-Allow-Origin'],
  // Browsers ask that of each redirect, too.
  ['/cdn', 'warning', '/cdn, answers without Access-Control-Allow-Origin'],
  ['/none', 'warning', 'answers with 404'],
  ['/soft-404', 'warning', 'answers with 200 and text/html'],
])('an image that answers like %s is %s', async (target, level, text) => {
  expect(await found({ image: here + target })).toEqual([[level, expect.stringContaining(text)]]);
});

test('what does not answer is a warning, soon', async () => {
  expect(await found({ platform: `${never}/page` })).toEqual([
    ['warning', expect.stringMatching(/\/page does not answer: .*REFUSED/)],
  ]);
  expect(await found({ image: `${here}/silent` }, 50)).toEqual([
    ['warning', `${here}/silent does not answer: nothing in 0.05 s.`],
  ]);
});

test('the addresses are those of records, and examples are not asked for', async () => {
  const variables = {
    DATABASE_URL: await makeSampleSqlite(),
    SITE_URL: here,
    FILES_URL: 'https://files.covers.example.org',
  };
  const both = { ...sample, run: runBoth };
  async function runBoth(...[context, findings]: Parameters<typeof sample.run>) {
    await sample.run(context, { ...findings, ok() {}, warn() {} });
    expect(context.addresses?.image).toMatch(/^https:\/\/files\.covers\.example\.org\/./);
    await addresses.run(context, findings);
  }
  expect(await examine(both, variables)).toMatchObject([
    { level: 'warning', text: expect.stringMatching(/\/en\/platform\/.*answers with 404/) },
    { level: 'warning', text: expect.stringMatching(/ a game, .*\/game\/.*answers with 404/) },
  ]);
  expect(await examine(addresses, variables)).toMatchObject([{ level: 'skipped' }]);
});
