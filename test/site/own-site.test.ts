/**
 * The pages of an installation that has a name, a website and a contact of its own, and where they can be found on
 * every page.
 */
import { expect, test } from 'vitest';
import { shownHost } from '#lib/pages/layout.ts';
import { readEnvironment } from '#lib/program/environment/environment.ts';
import { makePages } from '#site/pages.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { FRAME } from '#test/support/pages.ts';
import { makeFolder, NEVER, startProxy, testKey } from '#test/support/product.ts';

const OWN = {
  SITE_NAME: 'Capas & Caixas',
  SITE_URL: 'https://xn--capas-mta.example/inicio',
  SITE_CONTACT: 'https://capas.example/contato.php?id=3',
};
const key = testKey(1);
const snapshotsDir = await makeSampleSnapshots([key]);
const proxy = await startProxy(snapshotsDir, { ...OWN, EXPLORER_KEY: key.key }, NEVER);

async function read(path: string, url = proxy.url): Promise<string> {
  const response = await fetch(url + path, { headers: { accept: 'text/html' } });
  return response.text();
}

const pages = [...makePages({ publicUrl: '', defaultLimit: 120, frame: FRAME }).keys()];
const paths = pages.filter((path) => !/[.]\w+$/.test(path));

test.each([
  ...[...paths, '/status', '/no-such-page', '/account', '/match'],
  ...['/explore', '/explore/snes/chrono-trigger', '/explore/snes/no-such-game'],
])('%s has the name of the site, and leads to it and to its operator', async (path) => {
  const page = await read(path);
  expect(page).toContain('<meta property="og:site_name" content="Capas &amp; Caixas">');
  expect(page).not.toContain('Cover Catalogue');
  expect(page).toContain(`<a href="${OWN.SITE_URL}">Capas &amp; Caixas</a>`);
  expect(page).toContain(`<a href="${OWN.SITE_CONTACT}">Contact</a>`);
  expect(page).toContain('<a href="/explore"');
});

test('an internationalised host is shown in letters', () => {
  expect(shownHost('https://xn--mnchen-3ya.example:8443/x')).toBe('münchen.example:8443');
  expect(shownHost('http://[::1]:80/')).toBe('[::1]');
});

test('the contract names the site and its contact', async () => {
  const { info } = JSON.parse(await read('/openapi.json'));
  expect(info.title).toBe(OWN.SITE_NAME);
  expect(info.contact).toEqual({ name: OWN.SITE_NAME, url: OWN.SITE_CONTACT });
  const collection = JSON.parse(await read('/collection.json'));
  expect(collection.info.name).toBe(OWN.SITE_NAME);
});

test('a mailbox is a contact, too', async () => {
  const environment = { SITE_CONTACT: 'ola@capas.example' };
  const { url } = await startProxy(makeFolder(), environment, NEVER);
  expect(await read('/docs', url)).toContain('<a href="mailto:ola@capas.example">Contact</a>');
  const { info } = JSON.parse(await read('/openapi.json', url));
  expect(info.contact).toEqual({ name: 'Cover Catalogue API', email: 'ola@capas.example' });
});

test('without these variables, pages lead to no other site', async () => {
  const { url } = await startProxy(makeFolder(), {}, NEVER);
  for (const path of paths) {
    expect(await read(path, url)).not.toMatch(/<footer.*href="(?!\/)/s);
  }
});

test.each([
  'javascript:alert(1)',
  'data:text/html,x',
  'a b@c',
  'https://user@x.example',
  'x.example',
])('SITE_CONTACT refuses %j', (text) => {
  expect(() => readEnvironment(['SITE_CONTACT'], { SITE_CONTACT: text })).toThrow(
    'SITE_CONTACT must be an e-mail address or the http or https address of a page',
  );
});

test.each(['two\nlines', 'x'.repeat(61)])('SITE_NAME refuses %j', (text) => {
  expect(() => readEnvironment(['SITE_NAME'], { SITE_NAME: text })).toThrow(
    'SITE_NAME must be a name of up to 60 characters',
  );
});
