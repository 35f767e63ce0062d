/** `cover-catalogue keys`: what each verb does and prints, and what it refuses. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { VERBS } from '#cli/keys.ts';
import { rotateKey } from '#keys/lifecycle/own-keys.ts';
import { openDatabase } from '#lib/database/open.ts';
import { hashKey, isWellFormedKey } from '#lib/format/api-key.ts';
import { KINDS, makeDatabase } from '#test/support/databases.ts';
import { ROOT, runKeys } from '#test/support/product.ts';
import { openKeyTables } from './keys-database.ts';

describe.each(KINDS)('the keys command on a %s database', (kind) => {
  let database: Awaited<ReturnType<typeof openKeyTables>>;
  const keys = (...words: string[]) => runKeys(database.url, words);
  const rowOf = async (id: number) => {
    const names = 'state, reason, limit_per_minute, key_hash, key_prefix';
    const [row] = await database.rows(`SELECT ${names} FROM api_keys WHERE id = ?`, [id]);
    return Object.fromEntries(names.split(', ').map((name, index) => [name, row?.[index]]));
  };
  const request = async (state: string, purpose = 'a tool'): Promise<number> => {
    const { insertId } = await database.run(
      `INSERT INTO api_keys (account_id, purpose, website_url, state, requested_at)
       VALUES (7, ?, 'https://example.org', ?, '2026-01-02 03:04:05')`,
      [purpose, state],
    );
    return insertId;
  };
  beforeEach(async () => {
    database = await openKeyTables(kind);
  });

  it('issues different keys to simultaneous programs, on a database without the table', async () => {
    const url = await makeDatabase(kind);
    const all = await Promise.all([1, 2, 3, 4].map(() => runKeys(url, ['issue'])));
    expect(all.map(({ code, stderr }) => (code === 0 ? '' : stderr))).toEqual(['', '', '', '']);
    expect(new Set(all.map(({ stdout }) => stdout)).size).toBe(4);
    const made = await openDatabase(url);
    expect(await made.rows('SELECT COUNT(*) FROM api_keys')).toEqual([[4]]);
    await made.close();
  });

  it('lists keys as a table, optionally of one state', async () => {
    await request('pending', 'first');
    await request('rejected', 'second');
    await keys('issue', '--note', 'third');
    const lines = (await keys('list')).stdout.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(
        /^ID +STATE +ACCOUNT +LIMIT +PREFIX +OLD KEY +LAST USED +REQUESTED +LIMIT OF +NAME +WEBSITE +PURPOSE$/,
      ),
      expect.stringMatching(
        /^1 +pending +7 +120 +- +- +- +2026-01-02 03:04:05Z +- +- +https:\/\/example\.org +first$/,
      ),
      expect.stringMatching(/^2 +rejected .* second$/),
      expect.stringMatching(/^3 +approved +- +120 +cck_\w{4} .* third$/),
    ]);
    const pending = (await keys('list', '--state', 'pending')).stdout;
    expect(pending).toContain('first');
    expect(pending).not.toContain('second');
    const found = (await keys('list', '--text', 'SEC')).stdout;
    expect(found).toContain('second');
    expect(found).not.toContain('first');
  });

  it('lists when a key was last used, and finds the prefix of an old key while it works', async () => {
    const old = (await keys('issue', '--note', 'first')).stdout.slice(0, 8);
    const own = { id: 1, accountId: null, at: new Date(), publicUrl: 'https://covers.example' };
    await rotateKey(database, { ...own, keepsOld: true });
    await database.run("UPDATE api_keys SET last_used_at = '2026-01-02 03:04:05'");
    const found = async () => (await keys('list', '--text', old)).stdout;
    expect(await found()).toMatch(
      new RegExp(` ${old} until \\S+ \\S+Z +2026-01-02 03:04:05Z .* first`),
    );
    await keys('revoke', '1', '--reason', 'Leaked');
    expect(await found()).not.toContain('first');
  });

  it('lists no control characters, neither in the table nor in JSON', async () => {
    const purpose = '\u001b[2J\u009b1m\r\n\u202eevil\u2028\u0007 ok';
    await request('pending', purpose);
    const table = (await keys('list')).stdout;
    const json = (await keys('list', '--json')).stdout;
    for (const text of [table, json]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
      expect(text).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028\u202e]/);
      expect(text).toContain('evil');
    }
    expect(table.trimEnd().split('\n')).toHaveLength(2);
    expect(JSON.parse(json)[0].purpose).toBe(purpose);
  });

  // The rest does not depend on the database.
  if (kind === 'mysql') return;

  it('issues a key: prints only the key on stdout, and stores only its hash and first characters', async () => {
    const { code, stdout, stderr } = await keys('issue', '--limit', '600', '--note', 'a mirror');
    expect(code).toBe(0);
    const key = stdout.trimEnd();
    expect(stdout).toBe(`${key}\n`);
    expect(isWellFormedKey(key)).toBe(true);
    expect(stderr).not.toContain(key);
    const rows = await database.rows('SELECT * FROM api_keys');
    expect(JSON.stringify(rows)).not.toContain(key);
    expect(await rowOf(1)).toMatchObject({
      state: 'approved',
      limit_per_minute: 600,
      key_hash: hashKey(key),
      key_prefix: key.slice(0, 8),
    });
    expect(await database.rows('SELECT account_id, purpose, website_url FROM api_keys')).toEqual([
      [null, 'a mirror', ''],
    ]);
  });

  it('issues a key for the explorer as a setting of the proxy', async () => {
    const { stdout } = await keys('issue', '--for-explorer');
    const [, key = ''] = /^EXPLORER_KEY=(\w+)\n$/.exec(stdout) ?? [];
    expect(await rowOf(1)).toMatchObject({ limit_per_minute: 600, key_hash: hashKey(key) });
  });

  it('issues with the default limit of the environment', async () => {
    const environment = { DEFAULT_RATE_LIMIT: '77' };
    expect((await runKeys(database.url, ['issue'], environment)).code).toBe(0);
    expect(await rowOf(1)).toMatchObject({ limit_per_minute: 77 });
  });

  it('ends with 1 and says why if a key is not there, or its state forbids the verb', async () => {
    const id = await request('rejected');
    const forbidden = await keys('limit', String(id), '5');
    expect([forbidden.code, forbidden.stderr]).toEqual([
      1,
      `Key ${id} is rejected: only an approved key can get another limit.\n`,
    ]);
    expect((await rowOf(id)).state).toBe('rejected');
    expect(await keys('limit', '99', '5')).toMatchObject({
      code: 1,
      stderr: 'There is no key 99.\n',
    });
  });

  it('truncates texts to 60 characters in the table, but not in JSON', async () => {
    const whole = '😀'.repeat(60);
    const long = 'x'.repeat(61);
    await request('pending', whole);
    await request('pending', long);
    const [, first = '', second = ''] = (await keys('list')).stdout.split('\n');
    expect(first).toMatch(new RegExp(` ${whole}$`));
    expect(second).toMatch(/ x{59}…$/);
    const json = JSON.parse((await keys('list', '--json')).stdout);
    expect(json.map(({ purpose }: { purpose: string }) => purpose)).toEqual([whole, long]);
  });

  it('lists every column except the hash as JSON', async () => {
    expect(JSON.parse((await keys('list', '--json')).stdout)).toEqual([]);
    const key = (await keys('issue', '--note', 'x')).stdout.trimEnd();
    const { stdout } = await keys('list', '--json');
    expect(JSON.parse(stdout)).toEqual([
      expect.objectContaining({
        id: 1,
        state: 'approved',
        limit_per_minute: 120,
        account_id: null,
      }),
    ]);
    expect(stdout).not.toContain(hashKey(key));
  });
});

describe('the keys command', () => {
  const NOWHERE = 'sqlite:/nowhere/catalogue.db';

  it.each([
    [[], 'cover-catalogue keys'],
    [['frob'], 'There is no verb "frob"'],
    [['constructor'], 'There is no verb "constructor"'],
    [['issue', '--limit', '0'], '--limit must be a whole number from 1 to 1000000, not "0"'],
    [['issue', '--limit', '1e3'], 'not "1e3"'],
    [['issue', 'extra'], 'Unexpected argument: "extra"'],
    [['issue', '--frob'], '--frob'],
    [
      ['list', '--state', 'lost'],
      '--state must be one of pending, approved, granted, rejected, withdrawn, revoked',
    ],
    [['approve'], 'ID is missing'],
    [['approve', 'one'], 'not "one"'],
    [['reject', '1'], '--reason is missing'],
    [['revoke', '1', '--reason', ' '], '--reason is missing'],
    [['limit', '1'], 'N is missing'],
    [['limit', '1', '1.5'], 'N must be a whole number from 1 to 1000000, not "1.5"'],
    [['rotate', '-1'], "'-1'"],
    [['usage', '0'], 'as "list" shows it, not "0"'],
    [['usage', '--days', '0'], '--days must be a whole number from 1 to 400, not "0"'],
    [['usage', '--days', '401'], 'not "401"'],
    [['account', 'add'], 'EMAIL is missing'],
    [['account', 'add', 'a@b.example'], '--name is missing'],
    [
      ['account', 'add', 'a@b.example', '--name', 'A', '--role', 'king'],
      '--role must be one of user, moderator, not "king"',
    ],
    [['account', 'remove', 'a@b.example'], 'as "account list" shows it, not "a@b.example"'],
    [['account'], 'account add EMAIL'],
    [['account', 'frob'], 'There is no verb "frob"'],
  ])('refuses %j before it opens a database', async (words, message) => {
    const { code, stdout, stderr } = await runKeys(NOWHERE, words);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).toContain(message);
  });

  it('shows help for itself and each verb without a database', async () => {
    const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
    const exit = vi.spyOn(process, 'exit').mockImplementation(() => {
      throw new Error('The process ends.');
    });
    const helpOf = async (...words: string[]) => {
      await runKeys('', words);
      expect(exit).toHaveBeenLastCalledWith(0);
      return String(written.mock.lastCall?.[0]);
    };
    const overview = await helpOf('--help');
    const group = await helpOf('account', '--help');
    const one = await helpOf('approve', '--help');
    vi.restoreAllMocks();
    for (const { usage, help } of VERBS)
      expect(overview).toContain(`\n  ${usage}\n      ${help}\n`);
    expect(group).toMatch(
      /^cover-catalogue keys VERB …\n\n.*\n\n {2}account list [\s\S]*\n {2}account remove ID\n/,
    );
    expect(one).toMatch(/^Usage: cover-catalogue keys approve ID \[--limit N\]\n\nApproves /);
  });

  it('has exactly the verbs and arguments that operations/keys.md lists', () => {
    const operations = readFileSync(path.join(ROOT, 'operations/keys.md'), 'utf8');
    const [section = ''] = (operations.split('## Keys from the command line')[1] ?? '').split(
      '\n## ',
    );
    const told = [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, usage]) => usage);
    expect(told.toSorted()).toEqual(VERBS.map(({ usage }) => usage).toSorted());
  });
});
