/** The rights of the database user, and tables that are incomplete: errors name what is missing. */

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { requestKey } from '#keys/lifecycle/own-keys.ts';
import { approveRequest } from '#keys/lifecycle/reviews.ts';
import { createSession, endSession, mailSignInLink } from '#keys/lifecycle/sign-in.ts';
import { makeMailer } from '#keys/mail/mailer.ts';
import { sendDueMails } from '#keys/mail/outbox.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import type { Database } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { KINDS, makeDatabase, makeDatabaseUser } from '#test/support/databases.ts';
import { makeFolder, runKeys } from '#test/support/product.ts';
import { KEYS_GRANTS } from '#test/support/rights.ts';

it.each(KINDS)('a table on %s that lacks a column is refused, naming the column', async (kind) => {
  const url = await makeDatabase(kind);
  const database = await openDatabase(url);
  await createKeysTables(database);
  await database.run('ALTER TABLE api_keys DROP COLUMN website_url');
  await database.close();
  const { code, stdout, stderr } = await runKeys(url, ['list']);
  expect([code, stdout]).toEqual([1, '']);
  expect(stderr).toMatch(/^The database lacks the column api_keys\.website_url, .*README\.md/);
});

describe.each(KINDS.filter((kind) => kind === 'mysql'))('a user of %s', (kind) => {
  let admin: Database;
  let user: Awaited<ReturnType<typeof makeDatabaseUser>>;
  const keys = (...words: string[]) => runKeys(user.url, words, { MAIL_FOLDER: '/nowhere' });

  beforeEach(async () => {
    const url = await makeDatabase(kind);
    admin = await openDatabase(url);
    user = await makeDatabaseUser(url);
  });
  afterEach(() => admin.close());

  // `test/system/cli/doctor/grants.test.ts` compares these rights with the documents.
  it('needs only the rights in the documentation, and cannot change the history', async () => {
    await admin.run('CREATE TABLE game_titles (game_id BIGINT, title VARCHAR(500))');
    await user.grant('SELECT, SHOW VIEW ON *', ...KEYS_GRANTS);
    // Some servers, such as MySQL, write a binary log, and operations/from-your-site.md says what they need.
    await admin.run('SET GLOBAL log_bin_trust_function_creators = 1');
    await admin.run('CREATE TABLE people (no INT, mail VARCHAR(99), called VARCHAR(99))');
    await admin.run("INSERT INTO people VALUES (7, 'seven@covers.example', 'Seven')");
    await admin.run(
      "CREATE VIEW accounts AS SELECT no AS id, mail AS email, called AS name, 'user' AS role FROM people",
    );
    for (const args of [
      ['issue'],
      ['rotate', '1'],
      ['revoke', '1', '--reason', 'x'],
      ['account', 'list'],
      ['outbox'],
    ]) {
      const { code, stderr } = await keys(...args);
      expect([args[0], code, code === 0 ? '' : stderr]).toEqual([args[0], 0, '']);
    }
    const asUser = await openDatabase(user.url);
    const [accountId, at, publicUrl] = [7, new Date(), 'https://covers.example'];
    const text = { purpose: 'x', websiteUrl: 'https://x.example' };
    const { id } = await requestKey(asUser, { accountId, at, ...text });
    await approveRequest(asUser, id, { limit: 60, by: null, at, publicUrl });
    await mailSignInLink(asUser, 'seven@covers.example', { at, publicUrl });
    const toFolder = { smtpUrl: '', folder: makeFolder(), from: 'a@covers.example' };
    expect(await sendDueMails(asUser, makeMailer(toFolder), at)).toEqual({ sent: 2, failed: 0 });
    await endSession(asUser, await createSession(asUser, accountId, at));
    for (const sql of ['UPDATE key_events SET reason = NULL', 'DELETE FROM key_events']) {
      await expect(asUser.run(sql)).rejects.toThrow(/denied/);
    }
    await asUser.close();
    await expect(admin.run('DELETE FROM key_events')).rejects.toThrow(/cannot be rewritten/);
  });

  it('without the right to create tables gets an error that names the table', async () => {
    await user.grant('SELECT, INSERT, UPDATE ON *');
    const refused = await keys('list');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(
        /^The table api_keys cannot be created: .*denied.*operations\/from-your-site\.md lists\.\n$/,
      ),
    ]);
  });

  it('without the right to create triggers gets an error, unless it cannot change the history anyway', async () => {
    await createKeysTables(admin);
    await user.grant('SELECT, INSERT, UPDATE, DELETE ON *');
    expect((await keys('list')).code).toBe(0);
    // MySQL shows this user no triggers.
    const asUser = await openDatabase(user.url);
    const onMysql = {
      ...asUser,
      rows: async (...query: Parameters<Database['rows']>) =>
        query[0].includes('information_schema.triggers') ? [] : asUser.rows(...query),
    };
    await createKeysTables(onMysql);
    expect(await admin.rows('SELECT COUNT(*) FROM key_events')).toEqual([[0]]);
    await admin.run('DROP TRIGGER key_events_delete');
    await expect(createKeysTables(onMysql)).rejects.toThrow('GRANT TRIGGER ON key_events');
    expect(await admin.rows('SELECT COUNT(*) FROM key_events')).toEqual([[0]]);
    await asUser.close();
    await admin.run('DROP TRIGGER key_events_update');
    const refused = await keys('list');
    expect([refused.code, refused.stderr]).toEqual([
      1,
      expect.stringMatching(/^The trigger key_events_update, .* GRANT TRIGGER ON key_events /),
    ]);
    await user.revokeAll();
    await user.grant('SELECT, INSERT ON *');
    expect((await keys('list')).code).toBe(0);
  });
});
