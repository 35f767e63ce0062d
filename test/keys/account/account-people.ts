/**
 * Starts the account pages and signs three people in: an owner of keys, another owner, a moderator.
 * It keeps all responses, so that tests can search them.
 */
import path from 'node:path';
import type { Row, Value } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import {
  type Answer,
  makeAccounts,
  makeVisitor,
  type OwnPages,
  openPages,
  PEOPLE,
  signIn,
  type Visitor,
} from '#test/support/account.ts';
import { type Kind, makeDatabase } from '#test/support/databases.ts';
import { makeFolder } from '#test/support/product.ts';

export const KEYS = '/account/api-keys';
export const MODERATION = '/moderation/api-keys';
export const RAW_KEY = /cck_[0-9A-Za-z]{38}/;
/** A text that becomes markup if a page does not escape it. */
export const HOSTILE = `</textarea><script>alert(1)</script><img src=x onerror="alert(2)">' "&`;

export interface AccountSite {
  readonly pages: OwnPages;
  readonly mailFolder: string;
  readonly databaseUrl: string;
  readonly people: Readonly<Record<keyof typeof PEOPLE, Visitor>>;
  /** A new visitor, not signed in. */
  visit(): Visitor;
  /** The responses to all visitors so far. */
  answers(): string[];
  /** Requests a key and returns its id. */
  request(visitor: Visitor, fields?: Record<string, string>): Promise<number>;
  /** Lets the moderator approve, reject or revoke a key, or change its limit. */
  decide(id: number, action: string, fields: Record<string, string>): Promise<Answer>;
  /** Requests, approves and reveals a key. */
  revealed(visitor: Visitor): Promise<{ id: number; key: string }>;
  stateOf(id: number): Promise<unknown>;
  query(sql: string, values?: readonly Value[]): Promise<Row[]>;
}

export async function openAccountSite(kind: Kind = 'sqlite'): Promise<AccountSite> {
  const databaseUrl = await makeDatabase(kind);
  const mailFolder = path.join(makeFolder(), 'mail');
  await makeAccounts(databaseUrl);
  const pages = await openPages(databaseUrl, { MAIL_FOLDER: mailFolder });
  const visitors: Visitor[] = [];
  const visit = () => {
    const visitor = makeVisitor(pages.url);
    visitors.push(visitor);
    return visitor;
  };
  const people = { owner: visit(), other: visit(), moderator: visit() };
  await Promise.all(
    Object.entries(people).map(([name, visitor]) =>
      signIn(visitor, PEOPLE[name as keyof typeof PEOPLE].email, mailFolder),
    ),
  );

  const site: AccountSite = {
    pages,
    mailFolder,
    databaseUrl,
    people,
    visit,
    answers: () => visitors.flatMap(({ answers }) => answers),
    async request(visitor, fields = {}) {
      const form = { purpose: 'A test', website_url: 'https://a.example', ...fields };
      const reply = await visitor.post(KEYS, form);
      if (reply.headers.get('location') !== `${KEYS}?done=requested`) {
        throw new Error(`The request for a key got ${reply.status}:\n${reply.text}`);
      }
      const ids = [...(await visitor.get(KEYS)).text.matchAll(/id="key-(\d+)"/g)];
      return Math.max(...ids.map(([, id]) => Number(id)));
    },
    decide: (id, action, fields) => people.moderator.post(`${MODERATION}/${id}/${action}`, fields),
    async revealed(visitor) {
      const id = await site.request(visitor);
      await site.decide(id, 'approve', { limit: '60' });
      const { text } = await visitor.post(`${KEYS}/${id}/reveal`);
      return { id, key: RAW_KEY.exec(text)?.[0] as string };
    },
    stateOf: async (id) =>
      (await site.query('SELECT state FROM api_keys WHERE id = ?', [id]))[0]?.[0],
    async query(sql, values = []) {
      const database = await openDatabase(databaseUrl);
      try {
        return await database.rows(sql, values);
      } finally {
        await database.close();
      }
    },
  };
  return site;
}
