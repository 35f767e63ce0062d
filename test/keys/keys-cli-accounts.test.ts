/** What operators do for accounts on the command line, from adding to removing one. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../database/database.ts';
import { hashKey, isWellFormedKey } from '../../format/api-key.ts';
import { addAccount, removeAccount } from '../../keys/lifecycle/account-changes.ts';
import { createSession, findSession } from '../../keys/lifecycle/sign-in.ts';
import { lockAccount } from '../../keys/tables/account-lock.ts';
import { openLink } from '../../keys/tables/sign-in-links.ts';
import { KINDS } from '../support/databases.ts';
import { startMailServer } from '../support/servers/mail-server.ts';
import { type Mailing, openKeyTables, runKeys } from './keys-command.ts';

describe.each(KINDS)('the keys command on a %s database', (kind) => {
  let database: Database;
  const keys = (words: readonly string[], mail: Partial<Mailing> = {}) =>
    runKeys(database, words, mail);
  /** Runs a verb that must succeed. @returns what it printed */
  const done = async (...args: string[]): Promise<string> => {
    const { code, stdout, stderr } = await keys(args);
    if (code !== 0) throw new Error(`${args.join(' ')}: ${stderr}`);
    return stdout.trimEnd();
  };
  const json = async (...args: string[]) => JSON.parse(await done(...args, '--json'));
  const request = (account: string) =>
    done('request', '--account', account, '--purpose', 'a tool', '--url', 'https://tool.example');
  beforeEach(async () => {
    database = await openKeyTables(kind);
  });
  afterEach(() => database.close());

  it('takes a key through its life, and its history names the actors', async () => {
    expect(await done('account', 'list')).toMatch(/^ID +ROLE +EMAIL +NAME$/);
    expect(await done('account', 'add', 'ola@covers.example', '--name', 'Ola')).toBe('1');
    expect(await request('1')).toBe('');
    expect(await json('list', '--state', 'pending')).toEqual([
      expect.objectContaining({
        id: 1,
        account_id: 1,
        purpose: 'a tool',
        website_url: 'https://tool.example/',
      }),
    ]);
    expect((await json('list', '--text', 'OLA@')).length).toBe(1);
    expect((await json('list', '--text', 'nobody')).length).toBe(0);
    expect(await done('approve', '1', '--limit', '300')).toBe('');
    const first = await done('reveal', '1');
    expect(isWellFormedKey(first)).toBe(true);
    const again = await keys(['reveal', '1']);
    expect([again.code, again.stdout, again.stderr]).toEqual([
      1,
      '',
      'Key 1 was revealed before, and is shown only once; rotate it if it is lost.\n',
    ]);
    const rotated = await keys(['rotate', '1']);
    expect([rotated.code, rotated.stderr]).toEqual([
      0,
      'Key 1 is rotated; the old one stops working. The new one is shown only once:\n',
    ]);
    const second = rotated.stdout.trim();
    expect(isWellFormedKey(second)).toBe(true);
    expect(await database.rows('SELECT key_hash FROM api_keys')).toEqual([[hashKey(second)]]);
    await done('limit', '1', '400');
    await done('revoke', '1', '--reason', 'It leaked.');
    const lines = (await done('history', '1')).split('\n');
    expect(lines[0]).toMatch(/^AT +ACTION +BY +LIMIT +REASON$/);
    expect(lines.slice(1).map((line) => line.replace(/^\S+ \S+Z +/, '').split(/ {2,}/))).toEqual([
      ['requested', 'operator', '-', '-'],
      ['approved', 'operator', '300', '-'],
      ['revealed', 'operator', '-', '-'],
      ['rotated', 'operator', '-', '-'],
      ['limit_changed', 'operator', '400', '-'],
      ['revoked', 'operator', '-', 'It leaked.'],
    ]);
    const history = await json('history', '1');
    expect(history[1]).toMatchObject({ action: 'approved', limit_per_minute: 300, actor_id: null });
  });

  it('does not change accounts of the site', async () => {
    await database.run('CREATE TABLE users (id INT, email TEXT, name TEXT, role TEXT)');
    await database.run("INSERT INTO users VALUES (1, 'ola@covers.example', 'Ola', 'user')");
    await database.run('CREATE VIEW accounts AS SELECT id, email, name, role FROM users');
    for (const args of [
      ['add', 'new@covers.example', '--name', 'New'],
      ['role', '1', 'moderator'],
      ['remove', '1'],
    ]) {
      const { code, stderr } = await keys(['account', ...args]);
      expect([args[0], code, stderr]).toEqual([
        args[0],
        1,
        '"accounts" is a view of the accounts of your site: add, change or remove them there.\n',
      ]);
    }
    expect(await json('account', 'list')).toEqual([
      { id: 1, email: 'ola@covers.example', name: 'Ola', role: 'user' },
    ]);
    expect(await done('account', 'sign-in', 'ola@covers.example')).toContain(
      '/sign-in/link?token=',
    );
  });

  it('adds accounts with a name of up to 255 and an address of up to 320 characters', async () => {
    const add = (email: string, name: string) =>
      addAccount(database, { email, name, role: 'user' });
    const host = `${'b'.repeat(247)}.example`;
    const email = `${'a'.repeat(64)}@${host}`;
    const name = 'n'.repeat(255);
    await add(email, name);
    expect(await json('account', 'list')).toMatchObject([{ email, name }]);
    for (const longer of [`a${email}`, `${email}s`, `${'😀'.repeat(33)}@${host}`]) {
      await expect(add(longer, name)).rejects.toThrow('is not an e-mail address');
    }
    await expect(add('b@covers.example', `${name}n`)).rejects.toThrow('1 to 255 characters');
    await expect(add('b@covers.example', ' ')).rejects.toThrow('1 to 255 characters');
  });

  it('never reuses the id of an account, and ends the sessions of a removed one', async () => {
    const add = (email: string) => addAccount(database, { email, name: 'A', role: 'user' });
    const { id } = await add('a@covers.example');
    await request(String(id));
    await done('reject', '1', '--reason', 'no');
    const session = await createSession(database, id, new Date());
    await removeAccount(database, id);
    expect(await findSession(database, session, new Date())).toBeUndefined();
    expect((await add('b@covers.example')).id).toBe(id + 1);
  });

  it('adds accounts at the same time with different ids, and only one for each address', async () => {
    const add = (email: string) => addAccount(database, { email, name: 'A', role: 'user' });
    const all = await Promise.allSettled(
      ['a', 'b', 'c', 'd', 'a', 'A', 'a'].map((name) => add(`${name}@covers.example`)),
    );
    const ids = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value.id] : []));
    expect(ids.toSorted()).toEqual([1, 2, 3, 4]);
    for (const one of all) {
      if (one.status === 'rejected')
        expect(one.reason.message).toMatch(/is the address of account/);
    }
  });

  it('removes no account while a request of it is being written', async () => {
    await done('account', 'add', 'ola@covers.example', '--name', 'Ola');
    await request('1');
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
    expect(await removal).toMatch(/^Account 1 has pending requests or approved keys: 1\./);
    expect((await json('account', 'list')).length).toBe(1);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('refuses what the pages refuse, with the same messages', async () => {
    await done('account', 'add', 'ola@covers.example', '--name', 'Ola');
    const fields = ['--account', '1', '--purpose', 'x', '--url'];
    for (const [args, message] of [
      [['request', ...fields, 'javascript:alert(1)'], 'must be an http or https address'],
      [
        ['request', ...fields, 'https://me:secret@x.example'],
        'must not contain a user name or a password',
      ],
      [
        ['request', '--account', '9', '--purpose', 'x', '--url', 'http://x.example'],
        'There is no account 9.',
      ],
      [['reveal', '1'], 'There is no key 1.'],
      [['rotate', '1'], 'There is no key 1.'],
      [['history', '1'], 'There is no key 1.'],
    ] as const) {
      const { code, stdout, stderr } = await keys(args);
      expect([code, stdout, stderr]).toEqual([1, '', expect.stringContaining(message)]);
    }
    await request('1');
    for (const verb of ['reveal', 'rotate']) {
      const { code, stderr } = await keys([verb, '1']);
      expect([code, stderr]).toEqual([1, expect.stringContaining('Key 1 is pending: only an app')]);
    }
  });

  it('lists waiting mails, sends them, and reports why one was not sent', async () => {
    await done('account', 'add', 'ola@covers.example', '--name', 'Ola');
    await request('1');
    await done('approve', '1');
    const server = await startMailServer();
    await server.stop();
    const failed = await keys(['outbox', '--send'], { smtpUrl: server.url });
    expect([failed.code, failed.stderr]).toEqual([0, '0 sent.\n']);
    expect(failed.stdout).toMatch(
      /due \S+ \S+Z +1 +ola@covers\.example .*is approved: your API key is ready +.*ECONNREFUSED/,
    );
    await server.start();
    const sent = await keys(['outbox', '--send'], { smtpUrl: server.url });
    expect([sent.code, sent.stderr]).toEqual([0, '1 sent.\n']);
    expect(sent.stdout.trimEnd().split('\n')).toHaveLength(1);
    expect(server.mails.map(({ to }) => to)).toEqual([['ola@covers.example']]);
    expect(await done('outbox', '--all')).toMatch(/ sent \S+ \S+Z +2 +ola@covers\.example /);
    const none = await keys(['outbox', '--send'], { from: 'nobody' });
    expect([none.code, none.stderr]).toEqual([2, expect.stringContaining('MAIL_FROM must be')]);
    await server.stop();
  });

  it('prints a link that signs an account in', async () => {
    await done('account', 'add', 'mo@covers.example', '--name', 'Mo', '--role', 'moderator');
    const link = await done('account', 'sign-in', 'MO@covers.example');
    const [, token] = /^https:\/\/covers\.example\/account\/sign-in\/link\?token=([\w-]{43})$/.exec(
      link,
    ) as unknown as [string, string];
    expect(await openLink(database, token, new Date())).toBe(1);
    // Nobody can use the limit on mailed links up to keep an operator out.
    for (let i = 0; i < 9; i++) await done('account', 'sign-in', 'mo@covers.example');
    expect(await json('outbox')).toEqual([]);
    const nobody = await keys(['account', 'sign-in', 'no@covers.example']);
    expect([nobody.code, nobody.stderr]).toEqual([
      1,
      'No account, or more than one, has the address "no@covers.example"; "account list" lists them all.\n',
    ]);
  });

  it('adds, promotes and removes accounts', async () => {
    await done('account', 'add', 'ola@covers.example', '--name', ' Ola ');
    await done('account', 'role', '1', 'moderator');
    await done('account', 'role', '1', 'moderator');
    await done('account', 'add', 'other@covers.example', '--name', 'Other');
    expect(await json('account', 'list')).toEqual([
      { id: 1, email: 'ola@covers.example', name: 'Ola', role: 'moderator' },
      { id: 2, email: 'other@covers.example', name: 'Other', role: 'user' },
    ]);
    for (const [args, message] of [
      [
        ['account', 'add', 'OLA@covers.example', '--name', 'X'],
        'is the address of account 1 already.',
      ],
      [
        ['account', 'add', 'Ola <ola@b.example>', '--name', 'X'],
        'is not an e-mail address, such as',
      ],
      [['account', 'add', 'new@covers.example', '--name', 'X\u202e'], 'none of them invisible'],
      [['account', 'role', '9', 'user'], 'There is no account 9.'],
      [['account', 'remove', '9'], 'There is no account 9.'],
    ] as const) {
      const { code, stderr } = await keys(args);
      expect([code, stderr]).toEqual([1, expect.stringContaining(message)]);
    }
    await request('2');
    const refused = await keys(['account', 'remove', '2']);
    expect([refused.code, refused.stderr]).toEqual([
      1,
      'Account 2 has pending requests or approved keys: 1. Reject or revoke them first.\n',
    ]);
    await done('reject', '1', '--reason', 'no');
    await done('account', 'remove', '2');
    expect((await json('account', 'list')).length).toBe(1);
    expect((await json('history', '1')).length).toBe(2);
  });
});
