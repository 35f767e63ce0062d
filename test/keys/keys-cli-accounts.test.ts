/** What operators do at the command line for accounts and their keys, and the outbox. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { addAccount, removeAccount } from '#keys/lifecycle/accounts.ts';
import { requestHigherLimit, requestKey, revealKey, rotateKey } from '#keys/lifecycle/own-keys.ts';
import { createSession, findSession } from '#keys/lifecycle/sign-in.ts';
import { lockAccount } from '#keys/tables/accounts.ts';
import type { AccountId } from '#keys/tables/values.ts';
import type { Database } from '#lib/database/database.ts';
import { hashKey, isWellFormedKey } from '#lib/format/api-key.ts';
import { KINDS } from '#test/support/databases.ts';
import { ROOT, runKeys } from '#test/support/product.ts';
import { startMailServer } from '#test/support/servers/mail-server.ts';
import { openKeyTables } from './keys-database.ts';

describe.each(KINDS)('the keys command on a %s database', (kind) => {
  let database: Awaited<ReturnType<typeof openKeyTables>>;
  const keys = (words: readonly string[], variables: Record<string, string> = {}) =>
    runKeys(database.url, words, variables);
  /** Runs a verb that must succeed. @returns what it printed */
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await keys(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout.trimEnd();
  };
  const json = async (...args: string[]) => JSON.parse(await done(...args, '--json'));
  const add = (email: string, role?: 'moderator') =>
    addAccount(database, { email, name: 'A', role });
  const request = (accountId: AccountId) =>
    requestKey(database, {
      ...{ accountId, purpose: 'a tool', websiteUrl: 'https://tool.example', at: new Date() },
    });
  beforeEach(async () => {
    database = await openKeyTables(kind);
  });

  it('adds no account to a table whose ids are not numbers', async () => {
    await database.run('DROP TABLE IF EXISTS accounts');
    await database.run(
      'CREATE TABLE accounts (id VARCHAR(36), email VARCHAR(99), name VARCHAR(99), role VARCHAR(16))',
    );
    await database.run("INSERT INTO accounts VALUES ('a1b2-c3', 'ada@site.net', 'Ada', 'user')");
    const { code, stderr } = await keys(['account', 'add', 'ola@covers.example', '--name', 'Ola']);
    expect([code, stderr]).toEqual([1, expect.stringContaining('An account has the id "a1b2-c3"')]);
  });

  it('finds the key of an account, rotates and revokes it', async () => {
    expect(await done('account', 'list')).toMatch(/^ID +ROLE +EMAIL +NAME$/);
    expect(await done('account', 'add', 'ola@covers.example', '--name', 'Ola')).toBe('1');
    await request(1);
    expect(await json('list', '--text', 'OLA@')).toMatchObject([{ id: 1, account_id: 1 }]);
    expect(await json('list', '--text', 'nobody')).toEqual([]);
    expect(await done('approve', '1', '--limit', '300')).toBe('');
    const own = { id: 1, accountId: 1, at: new Date() };
    await revealKey(database, own);
    await rotateKey(database, { ...own, keepsOld: true, publicUrl: '' });
    expect(await done('list')).toMatch(/ cck_\w{4} +cck_\w{4} until \d{4}-[\d-]+ [\d:]+Z /);
    const rotated = await keys(['rotate', '1']);
    expect([rotated.code, rotated.stderr]).toEqual([
      0,
      'Key 1 is rotated; the old one stops working. The new one is shown only once:\n',
    ]);
    expect(isWellFormedKey(rotated.stdout.trim())).toBe(true);
    const stored = await database.rows('SELECT key_hash FROM api_keys');
    expect(stored).toEqual([[hashKey(rotated.stdout.trim())]]);
    const asked = { accountId: 1, limitOf: 1, limit: 900, purpose: 'x', at: new Date() };
    await requestHigherLimit(database, asked);
    expect((await keys(['approve', '2'])).stderr).toBe(
      'Request 2 is approved: key 1 has 900 requests a minute now.\n',
    );
    await done('limit', '1', '300');
    await done('revoke', '1', '--reason', 'It leaked.');
    expect((await json('list'))[0]).toMatchObject({
      state: 'revoked',
      reason: 'It leaked.',
      limit_per_minute: 300,
      reviewed_at: expect.any(String),
    });
  });

  it('lets one person review without a moderator, with the commands of the documents', async () => {
    const document = readFileSync(path.join(ROOT, 'operations/keys.md'), 'utf8');
    const [, section = ''] = document.split('## Without a moderator\n');
    const [told = ''] = section.split('\n## ');
    const [list = [], ...others] = [...told.matchAll(/^ {4}cover-catalogue keys (.*)$/gm)].map(
      ([, words = '']) =>
        Array.from(words.matchAll(/"([^"]*)"|\S+/g), ([word, text]) => text ?? word),
    );
    await done('account', 'add', 'ola@covers.example', '--name', 'Ola');
    for (let i = 1; i <= 3; i++) await request(1);
    expect((await done(...list)).match(/^\d+ +pending /gm)).toHaveLength(3);
    for (const words of others) await done(...words);
    expect(await json('list')).toMatchObject([
      { state: 'approved', limit_per_minute: 120 },
      { state: 'approved', limit_per_minute: 600 },
      { state: 'rejected', reason: 'The archive has all of it in one request.' },
    ]);
    expect((await json('account', 'list')).at(-1)).toMatchObject({ role: 'moderator' });
  });

  it('does not change accounts of the site', async () => {
    await database.run('CREATE TABLE users (id INT, email TEXT, name TEXT, role TEXT)');
    await database.run("INSERT INTO users VALUES (1, 'ola@covers.example', 'Ola', 'user')");
    await database.run('CREATE VIEW accounts AS SELECT id, email, name, role FROM users');
    for (const args of [
      ['add', 'new@covers.example', '--name', 'New'],
      ['add', 'ola@covers.example', '--name', 'Ola', '--role', 'moderator'],
      ['remove', '1'],
    ]) {
      const { code, stderr } = await keys(['account', ...args]);
      expect([args, code, stderr]).toEqual([
        args,
        1,
        '"accounts" is a view of the accounts of your site: add, change or remove them there.\n',
      ]);
    }
    expect(await json('account', 'list')).toEqual([
      { id: 1, email: 'ola@covers.example', name: 'Ola', role: 'user' },
    ]);
  });

  it('never reuses the id of an account, and ends the sessions of a removed one', async () => {
    const { id } = await add('a@covers.example');
    await request(id);
    await done('reject', '1', '--reason', 'no');
    const session = await createSession(database, id, new Date());
    await removeAccount(database, id);
    expect(await findSession(database, session, new Date())).toBeUndefined();
    expect((await add('b@covers.example')).id).toBe(Number(id) + 1);
  });

  it('adds accounts at the same time with different ids, and only one for each address', async () => {
    const all = await Promise.all(
      ['a', 'b', 'c', 'd', 'a', 'A', 'a'].map((name) => add(`${name}@covers.example`)),
    );
    const added = all.filter(({ isNew }) => isNew).map(({ id }) => id);
    expect(added.toSorted()).toEqual([1, 2, 3, 4]);
    expect((await json('account', 'list')).length).toBe(4);
  });

  it('removes no account while a request of it is being written', async () => {
    await add('ola@covers.example');
    await request(1);
    await done('reject', '1', '--reason', 'no');
    const { promise: isUnderWay, resolve: begin } = Promise.withResolvers<void>();
    const observed: Database = {
      ...database,
      transaction: (work) =>
        database.transaction(({ run, ...writer }) =>
          work({
            ...writer,
            run(...statement) {
              begin();
              return run(...statement);
            },
          }),
        ),
    };
    let removal: Promise<string> | undefined;
    await database.transaction(async (writer) => {
      await lockAccount(writer, 1);
      removal = removeAccount(observed, 1).then(
        () => 'removed',
        ({ message }) => message,
      );
      // On SQLite, the other transaction waits before it begins.
      if (kind === 'mysql') await isUnderWay;
      await writer.run("UPDATE api_keys SET state = 'pending' WHERE id = 1");
    });
    expect(await removal).toBe(
      'Account 1 has pending requests or approved keys: 1. Reject or revoke them first.',
    );
    expect((await json('account', 'list')).length).toBe(1);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('adds accounts with a name of up to 255 and an address of up to 320 characters', async () => {
    const addAs = (email: string, name: string) =>
      addAccount(database, { email, name, role: 'user' });
    const host = `${'b'.repeat(247)}.example`;
    const email = `${'a'.repeat(64)}@${host}`;
    const name = 'n'.repeat(255);
    await addAs(email, name);
    expect(await json('account', 'list')).toMatchObject([{ email, name }]);
    for (const longer of [`a${email}`, `${email}s`, `${'😀'.repeat(33)}@${host}`]) {
      await expect(addAs(longer, name)).rejects.toThrow('is not an e-mail address');
    }
    for (const wrong of [`${name}n`, ' ', 'X\u202e']) {
      await expect(addAs('b@covers.example', wrong)).rejects.toThrow('1 to 255 characters');
    }
  });

  it('adds, changes and removes accounts', async () => {
    const account = (...args: string[]) => done('account', ...args);
    await account('add', 'ola@covers.example', '--name', ' Ola ');
    expect(await account('add', 'OLA@covers.example', '--name', 'Ola', '--role', 'moderator')).toBe(
      '1',
    );
    const renamed = await keys(['account', 'add', 'ola@covers.example', '--name', 'Ola O.']);
    expect(renamed.stderr).toBe('Account 1 is changed, with the role moderator.\n');
    await account('add', 'other@covers.example', '--name', 'Other');
    expect(await json('account', 'list')).toEqual([
      { id: 1, email: 'ola@covers.example', name: 'Ola O.', role: 'moderator' },
      { id: 2, email: 'other@covers.example', name: 'Other', role: 'user' },
    ]);
    const missing = await keys(['account', 'remove', '9']);
    expect([missing.code, missing.stderr]).toEqual([1, 'There is no account 9.\n']);
    await account('remove', '2');
    expect((await json('account', 'list')).length).toBe(1);
  });

  it('lists waiting mails, sends them, and reports why one was not sent', async () => {
    await add('ola@covers.example');
    await request(1);
    await done('approve', '1');
    const server = await startMailServer();
    await server.stop();
    const failed = await keys(['outbox', '--send'], { SMTP_URL: server.url });
    expect([failed.code, failed.stderr]).toEqual([0, '0 sent.\n']);
    expect(failed.stdout).toMatch(
      /due \S+ \S+Z +1 +ola@covers\.example .*is approved: your API key is ready +.*ECONNREFUSED/,
    );
    await server.start();
    const sent = await keys(['outbox', '--send'], { SMTP_URL: server.url });
    expect([sent.code, sent.stderr]).toEqual([0, '1 sent.\n']);
    expect(sent.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(server.mails.map(({ to }) => to)).toEqual([['ola@covers.example']]);
    expect(await done('outbox', '--all')).toMatch(/ sent \S+ \S+Z +2 +ola@covers\.example /);
    const none = await keys(['outbox', '--send'], { MAIL_FROM: 'nobody' });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('MAIL_FROM must be')]);
    await server.stop();
  });
});
