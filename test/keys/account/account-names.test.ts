/** Account pages and e-mails have the name and contact that the owner has set. */
import { expect, test } from 'vitest';
import {
  mailsIn,
  makeAccounts,
  makeVisitor,
  openPages,
  PEOPLE,
  signIn,
} from '#test/support/account.ts';
import { makeFolder } from '#test/support/product.ts';

const KEYS = '/account/api-keys';
const OURS = 'Cover Catalogue API';
const NAME = 'Capas & Jogos';
const SITE_URL = 'https://capas.example';

async function open(environment: Record<string, string>) {
  const folder = makeFolder();
  const pages = await openPages(await makeAccounts(), { MAIL_FOLDER: folder, ...environment });
  const visitor = makeVisitor(pages.url);
  const page = await visitor.get('/account/sign-in');
  await signIn(visitor, PEOPLE.owner.email, folder);
  const others = [await visitor.get(KEYS), await visitor.get('/account/nothing')];
  const foreign = await visitor.post(KEYS, {}, { origin: 'https://evil.example' });
  expect(foreign.status).toBe(403);
  const texts = [page, ...others, foreign].map(({ text }) => text);
  return { texts, mail: mailsIn(folder).at(-1) ?? '' };
}

test('every page and e-mail is called as the owner says, and names the contact', async () => {
  const SITE_CONTACT = 'ajuda@capas.example';
  const { texts, mail } = await open({ SITE_NAME: NAME, SITE_CONTACT, SITE_URL });
  for (const text of texts) {
    expect(text).not.toContain(OURS);
    expect(text).toMatch(/<title>[^<]+ · Capas &amp; Jogos<\/title>/);
    expect(text).toContain(`<a href="${SITE_URL}">Capas &amp; Jogos</a>`);
    expect(text).toContain(`<a href="mailto:${SITE_CONTACT}">Contact</a>`);
  }
  expect(mail.endsWith(`\n-- \n${NAME}\n${SITE_CONTACT}\n`)).toBe(true);
});

test('the contact may be a page', async () => {
  const SITE_CONTACT = `${SITE_URL}/contacto?de=api`;
  const { texts, mail } = await open({ SITE_CONTACT });
  for (const text of texts) expect(text).toContain(`<a href="${SITE_CONTACT}">Contact</a>`);
  expect(mail.endsWith(`\n-- \n${SITE_CONTACT}\n`)).toBe(true);
});

test('without these variables, pages have the name of the product, and e-mails no signature', async () => {
  const { texts, mail } = await open({ SITE_URL });
  for (const text of texts) {
    expect(text).toContain(` · ${OURS}</title>`);
    expect(text).not.toContain('>Contact</a>');
  }
  expect(mail).not.toContain('-- ');
});
