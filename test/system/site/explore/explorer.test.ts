/** The pages of the explorer over HTTP: what they show, what they count, and what they refuse. */
import { describe, expect, test } from 'vitest';
import type { Game } from '#client/contract-types.ts';
import { HOSTILE, startAgain, startExplorer } from '#test/site/explore/explored.ts';
import { send, testKey } from '#test/support/product.ts';

const explorerKey = testKey(1);
const visitorKey = testKey(2);
const smallKey = testKey(3, { limit: 2 });
const keys = [explorerKey, visitorKey, smallKey];

const explored = await startExplorer(keys, explorerKey.key);
const { proxy } = explored;

let people = 0;
/** The headers of another visitor each time, since one may open only some pages a minute. */
const asPerson = (headers = {}) => ({
  headers: { 'x-forwarded-for': `10.0.${people >> 8}.${people++ & 255}`, ...headers },
});
const get = (path: string, headers = {}) => send(`${proxy.url}${path}`, asPerson(headers));

/** The text of a page as a reader sees it. */
function textOf(html: string): string {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replaceAll('&#39;', "'")
    .replaceAll('&quot;', '"')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .replace(/\s+/g, ' ');
}

describe('a page', () => {
  test.each([
    ['/explore', 'Explore the covers'],
    ['/explore?q=zelda', 'for “zelda”'],
    ['/explore/snes', 'Super Nintendo Entertainment System'],
    ['/explore/snes/chrono-trigger', 'A boy follows a friend'],
    ['/explore/snes/chrono-trigger/50001', 'Front, Japan'],
    ['/explore?q=zelda&utm_source=mail', 'for “zelda”'],
  ])('%s shows "%s"', async (path, expected) => {
    const { status, headers, text } = await get(path);
    expect(status).toBe(200);
    expect(textOf(text)).toContain(expected);
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'; " +
        `script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' ${explored.images}`,
    );
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(headers['cache-control']).toBe('private, no-cache');
    expect(headers['x-content-type-options']).toBe('nosniff');
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(text).not.toContain(explorerKey.key);
  });

  test.each([
    [
      '/explore?q=zelda',
      'search?q=zelda&sort=relevance&include=cover,covers&facets=platform,region,type,genre&per_page=30',
    ],
    ['/explore/snes/chrono-trigger', 'games/snes/chrono-trigger?include=covers'],
    ['/explore/snes/chrono-trigger/50001', 'covers/50001'],
  ])('%s shows the call of the API behind it', async (path, call) => {
    const { text } = await get(path);
    const [, code = ''] = /<code id="call-curl">(.*?)<\/code>/s.exec(text) ?? [];
    const [target = '', ...query] = call.split(/[?&]/);
    expect(code).toContain(`$COVERS_API/${target}&quot; \\\n`);
    expect([...code.matchAll(/-d (\S+)/g)].map(([, pair]) => pair)).toEqual(query);
    expect(textOf(text)).toContain('COVERS_API to https://api.covers.example/api/v1');
    expect((await proxy.get(`/${call}`, visitorKey.key)).status).toBe(200);
  });

  test('is offered as JSON and as CSV, and has a description and an image for previews', async () => {
    const { text } = await get('/explore/snes?q=mario');
    expect(text).toMatch(/<meta name="description" property="og:description" content="[^"]+">/);
    expect(text).toMatch(new RegExp(`<meta property="og:image" content="${explored.images}/`));
    expect(text).toContain('href="/explore/snes?q=mario&amp;format=csv"');
    const json = await get('/explore/snes?q=mario&format=json');
    expect(json.headers['content-type']).toBe('application/json; charset=utf-8');
    const { data } = JSON.parse(json.text);
    const csv = await get('/explore/snes?q=mario&format=csv');
    expect(csv.headers['content-type']).toBe('text/csv; charset=utf-8');
    const lines = csv.text.trimEnd().split('\r\n');
    expect(lines).toHaveLength(data.length + 1);
    expect(lines[0]).toMatch(/^\uFEFF"platform","id","slug","title",.*"image"$/);
    expect(lines[1]).toContain(`"snes","${data[0].id}","${data[0].slug}"`);
    const covers = (await get('/explore/snes/chrono-trigger?format=csv')).text;
    expect(covers).toMatch(
      /^\uFEFF"id","region","type","approved_at","image"\r\n"\d+","\w+","\w+",/,
    );
  });

  test('has every game of the call, in its order, with a link to its page', async () => {
    const call = '/search?q=the&sort=relevance&include=cover&per_page=30&page=2';
    const { data } = (await proxy.get(call, visitorKey.key)).json;
    const { text } = await get('/explore?q=the&page=2');
    const links = [...text.matchAll(/class="game" href="([^"]*)"/g)].map(([, link]) => link);
    expect(data.length).toBeGreaterThan(0);
    const paths = data.map((game: Game) => `/explore/${game.platform.slug}/${game.slug}`);
    expect(links).toEqual(paths);
    for (const link of links.slice(0, 3)) expect((await get(link)).status).toBe(200);
  });

  test.each([
    '/explore?q=the',
    '/explore/ps1?q=final&type=front',
    // With all words on another platform, and with all but one on this one.
    '/explore/snes?q=mario+kart+64',
    '/explore?genre=RPG&region=usa',
  ])('%s counts in each filter what the API finds with it', async (path) => {
    const { text } = await get(path);
    const filters = text.slice(text.indexOf('id="filters"'));
    const links = [
      ...filters.matchAll(/href="([^"]*)"([^>]*)><span>.*?<\/span> <span[^>]*>([\d,]+)</g),
    ];
    expect(links.length).toBeGreaterThan(5);
    for (const [, link, attributes, count] of links) {
      // The link of the value in use removes it.
      if (attributes.includes('aria-current')) continue;
      const { text: page } = await get(link.replaceAll('&amp;', '&'));
      expect(page).toMatch(new RegExp(`role="status">(No title .*Showing )?${count} game`));
    }
  });

  test.each([
    ['near', 'zelad', 'with a similar spelling'],
    ['platform', 'tetris nes', 'read as a title and a platform'],
    ['partial', 'zelda frobnicate', 'all but one'],
  ])('says how the search matched: %s', async (_, q, expected) => {
    const { text } = await get(`/explore?q=${encodeURIComponent(q)}`);
    expect(textOf(text)).toContain(expected);
  });

  test('offers for a name that was not found what has a word of it, and nothing that has only its number', async () => {
    const candidatesOf = async (name: string) => {
      const { text } = await get(`/match?platform=pc&names=${encodeURIComponent(name)}`);
      return text.match(/aria-label="Candidates".*?<\/ul>/s)?.[0] ?? '';
    };
    expect(await candidatesOf('SimCity 2013')).toContain('SimCity 2000');
    expect(await candidatesOf('Frobnicate 2000')).toBe('');
  });

  test('is answered with 304 if the client has it', async () => {
    const { headers } = await get('/explore/snes', { 'accept-encoding': 'br' });
    expect(headers['content-encoding']).toBe('br');
    const again = await get('/explore/snes', {
      'accept-encoding': 'br',
      'if-none-match': headers.etag,
    });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
  });
});

describe('what does not exist', () => {
  test.each([
    ...['/explore//', '/explore/SNES', '/explore/no-such-platform', '/explore/snes/no-such-game'],
    ...['/explore/snes/chrono-trigger/1', '/explore/snes/chrono-trigger/50001//'],
    ...['/explore/snes/chrono-trigger/-1', '/explore/nes/chrono-trigger/50001'],
    ...['/explore/snes/chrono-trigger%2Fcovers', '/explore/snes/..%2F..%2Fplatforms'],
    ...['/explore/%ff', '/explore/__proto__'],
  ])('%s is a page with 404', async (path) => {
    const { status, headers, text } = await get(path);
    expect(status).toBe(404);
    expect(headers['content-type']).toBe('text/html; charset=utf-8');
    expect(text).toContain('<h1>Not found</h1>');
  });

  test.each([
    ['/explore/', '/explore'],
    ['/explore/?q=zelda', '/explore?q=zelda'],
    ['/explore/snes/chrono-trigger/50001/', '/explore/snes/chrono-trigger/50001'],
  ])('%s leads to %s', async (path, expected) => {
    const { status, headers } = await get(path);
    expect([status, headers.location]).toEqual([308, expected]);
  });

  test.each([
    ['/explore?page=0', 'page must be an integer'],
    ['/explore?sort=best', 'sort must be one of'],
    [`/explore?q=${'a'.repeat(101)}`, 'at most 100 characters'],
  ])('%s is a page with 400 that says why', async (path, expected) => {
    const { status, text } = await get(path);
    expect(status).toBe(400);
    expect(textOf(text)).toContain(expected);
  });

  test.each([
    ['/explore?page=9999', '/explore'],
    ['/explore?q=zelda&page=9999', '/explore?q=zelda'],
  ])('%s is past the end, and leads back to the first page', async (path, first) => {
    const { status, text } = await get(path);
    expect(status).toBe(200);
    const nothing = text.slice(text.indexOf('There are no more'));
    expect(nothing).toMatch(/There are no more games<.h2>\s*<p>This page is after the last one/);
    expect(nothing).toContain(`href="${first}"`);
  });

  test.each([
    ['/explore?q=xqzvv', 'Check the spelling, or use fewer words.'],
    ['/explore?q=zelda&region=Mars', 'Check the spelling, or use fewer words or filters.'],
    ['/explore/snes?genre=Mars', 'No game passes all of these filters.'],
  ])('%s finds nothing, and says what to change', async (path, advice) => {
    const { text } = await get(path);
    expect(text).toContain(`No games found</h2>\n  <p>${advice}</p>`);
    // A link to the filters leads somewhere only if there are any.
    expect(text.includes('href="#filters"')).toBe(text.includes('id="filter-'));
  });
});

describe('the key', () => {
  test('each page counts as one request with EXPLORER_KEY, and past its limit there is a page with 429', async () => {
    const small = await startAgain(explored.snapshotsDir, smallKey.key);
    const statuses: number[] = [];
    for (const path of ['/explore', '/explore/snes/chrono-trigger', '/explore/snes']) {
      statuses.push((await send(small.url + path, asPerson())).status);
    }
    expect(statuses).toEqual([200, 200, 429]);
    const refused = await send(`${small.url}/explore`, asPerson());
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expect(refused.text).toContain('Too many requests');
    // The limit of the explorer is not that of the API.
    expect((await small.get('/stats', visitorKey.key)).status).toBe(200);
  });

  test('without EXPLORER_KEY, a page says that there is no explorer, and leads to docs and keys', async () => {
    const keyless = await startAgain(explored.snapshotsDir, '');
    const asClient = asPerson({ authorization: `Bearer ${visitorKey.key}`, accept: 'text/html' });
    for (const path of ['/explore', '/explore/snes', '/match', '/explore/no-such-platform']) {
      const { status, headers, text } = await send(keyless.url + path, asClient);
      expect([path, status]).toEqual([path, 404]);
      expect(headers['cache-control']).toBe('no-store');
      expect(text).toContain('<h1>There is no such page</h1>');
      for (const link of ['/docs', '/account/api-keys']) expect(text).toContain(` href="${link}"`);
      expect(text).not.toContain('Super Nintendo');
    }
    // No page leads there.
    const toExplorer = /(?:href|action)="\/(?:explore|match)[/?"]/;
    for (const path of ['/', '/docs', '/docs/folder', '/changelog', '/no-such-page']) {
      const request = { headers: { accept: 'text/html' } };
      expect((await send(keyless.url + path, request)).text).not.toMatch(toExplorer);
    }
    const start = (await send(proxy.url)).text;
    expect(start).toContain('action="/explore"');
    expect(start).toContain('href="/match"');
    expect(start).toMatch(/href="\/explore\/[\w-]+\/[\w-]+"><span class="art"><img src="http/);
  });

  test.each([
    ['an unknown key', { 'x-api-key': testKey(9).key }],
    ['two keys', { 'x-api-key': visitorKey.key, authorization: `Bearer ${visitorKey.key}` }],
    ['a key without a scheme', { authorization: visitorKey.key }],
  ])('%s of a visitor changes nothing', async (_, headers) => {
    expect((await get('/explore', headers)).status).toBe(200);
  });

  test('a key that the API refuses in EXPLORER_KEY closes the explorer, and nothing else', async () => {
    const closed = await startAgain(explored.snapshotsDir, testKey(9).key);
    const { status, text } = await send(`${closed.url}/explore`);
    expect(status).toBe(500);
    expect(text).toContain('The explorer is closed');
    expect((await closed.get('/stats', visitorKey.key)).status).toBe(200);
  });
});

test('hostile texts in every field are shown as texts', async () => {
  const { platform, slug, cover } = HOSTILE;
  for (const path of [
    `/explore/${platform}`,
    `/explore/${platform}/${slug}`,
    `/explore/${platform}/${slug}/${cover}`,
    `/explore?q=${encodeURIComponent('"><script>alert(1)</script>')}`,
    `/explore?region=${encodeURIComponent('"><script>alert(1)</script>')}&sort=relevance`,
  ]) {
    const { status, text } = await get(path);
    expect([path, status]).toEqual([path, 200]);
    expect(textOf(text)).toContain('<script>alert(1)</script>');
    // The only scripts are the two files of the page.
    expect(text.match(/<script/g)).toHaveLength(2);
    expect(text).not.toMatch(/<img src=x|\son\w+=["']|\u202e/);
  }
});
