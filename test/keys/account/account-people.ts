/** Starts the account pages and signs three people in: an owner of keys, another owner, a moderator. */
import path from 'node:path';
import type { Row, Value } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import {
  makeAccounts,
  makeVisitor,
  openPages,
  PEOPLE,
  signIn,
  type Visitor,
} from '#test/support/account.ts';
import type { Texts } from '#test/support/processes.ts';
import { makeFolder } from '#test/support/product.ts';

export const KEYS = '/account/api-keys';
export const MODERATION = '/moderation/api-keys';
export const RAW_KEY = /cck_[0-9A-Za-z]{38}/;
/** A text that becomes markup if a page does not escape it. */
export const HOSTILE = `</textarea><script>alert(1)</script><img src=x onerror="alert(2)">' "&`;

export async function openAccountSite() {
  const databaseUrl = await makeAccounts();
  const mailFolder = path.join(makeFolder(), 'mail');
  const pages = await openPages(databaseUrl, { MAIL_FOLDER: mailFolder });
  /** A new visitor, not signed in. */
  const visit = () => makeVisitor(pages.url);
  const people = { owner: visit(), other: visit(), moderator: visit() };
  for (const name of ['owner', 'other', 'moderator'] as const) {
    await signIn(people[name], PEOPLE[name].email, mailFolder);
  }

  /** Requests a key and returns its id. */
  async function request(visitor: Visitor, fields: Texts = {}): Promise<number> {
    const form = { purpose: 'A test', website_url: 'https://a.example', ...fields };
    const reply = await visitor.post(KEYS, form);
    if (reply.headers.get('location') !== `${KEYS}?done=requested`) {
      throw new Error(`The request for a key got ${reply.status}:\n${reply.text}`);
    }
    const ids = [...(await visitor.get(KEYS)).text.matchAll(/id="key-(\d+)"/g)];
    return Math.max(...ids.map(([, id]) => Number(id)));
  }

  /** Lets the moderator approve, reject or revoke a key, or change its limit. */
  const decide = (id: number, action: string, fields: Texts) =>
    people.moderator.post(`${MODERATION}/${id}/${action}`, fields);

  /** Requests, approves and reveals a key. */
  async function revealed(visitor: Visitor): Promise<{ id: number; key: string }> {
    const id = await request(visitor);
    await decide(id, 'approve', { limit: '60' });
    const { text } = await visitor.post(`${KEYS}/${id}/reveal`);
    return { id, key: RAW_KEY.exec(text)?.[0] ?? '' };
  }

  async function query(sql: string, values: readonly Value[] = []): Promise<Row[]> {
    const database = await openDatabase(databaseUrl);
    return database.rows(sql, values).finally(() => database.close());
  }

  const stateOf = async (id: number) =>
    (await query('SELECT state FROM api_keys WHERE id = ?', [id]))[0]?.[0];

  return {
    pages,
    mailFolder,
    databaseUrl,
    people,
    visit,
    request,
    decide,
    revealed,
    query,
    stateOf,
  };
}
