/** `keys export` and `keys import`: what a backup contains, and that a restore is all or nothing. */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../database/database.ts';
import { createTables } from '../../../database/tables.ts';
import { hashKey } from '../../../format/api-key.ts';
import { BACKED_UP, NOT_BACKED_UP } from '../../../keys/backup/backed-up-tables.ts';
import { ACCOUNTS_TABLE, KEYS_TABLES } from '../../../keys/tables/schema.ts';
import { KINDS, type Kind } from '../../support/databases.ts';
import { makeFolder, runProgram } from '../../support/product.ts';
import { openKeyTables, runKeys } from '../keys-command.ts';
import { type KeysDatabase, openKeysDatabase, STATES } from '../keys-database.ts';

const HOSTILE = 'line\nbreak "quote" \\ \u2028 ☃ \u{1F3AE} \'; DROP TABLE api_keys; --\t\u0000end';

/** A database with a key of each state, an operator's key, and rows in every table. */
async function openFilled(kind: Kind): Promise<KeysDatabase> {
  const database = await openKeysDatabase(kind);
  const owner = await database.addOwner({ name: 'Zoë ☃', role: 'moderator' });
  for (const state of STATES) await database.keyIn(state, owner.id);
  expect((await runKeys(database, ['issue', '--note', 'an operator'])).code).toBe(0);
  await database.run("UPDATE api_keys SET last_used_on = '2026-03-05', purpose = ? WHERE id = 1", [
    HOSTILE,
  ]);
  return database;
}

function newFile(): string {
  return path.join(makeFolder(), 'keys.backup');
}

async function exportTo(database: Database, file = newFile()): Promise<string> {
  const { code, stdout, stderr } = await runKeys(database, ['export', file]);
  expect([code, stdout]).toEqual([0, '']);
  expect(stderr).toContain(`${file} has these rows: `);
  return readFileSync(file, 'utf8');
}

/** The rows of every table. */
async function contentOf(database: Database): Promise<Record<string, unknown>> {
  const tables = Object.keys({ ...ACCOUNTS_TABLE, ...KEYS_TABLES });
  const content: Record<string, unknown> = {};
  for (const table of tables) {
    content[table] = await database.rows(`SELECT * FROM ${table} ORDER BY 1`);
  }
  return content;
}

describe('a backup', () => {
  it('has every table and column of the schema, unless a reason says why not', () => {
    const all = { ...ACCOUNTS_TABLE, ...KEYS_TABLES };
    expect(Object.keys(NOT_BACKED_UP)).toEqual([
      'mail_outbox',
      'sent_notices',
      'sign_in_links',
      'sessions',
    ]);
    const expected = Object.entries(all)
      .filter(([name]) => !(name in NOT_BACKED_UP))
      .map(([name, { columns }]) => [name, Object.keys(columns)]);
    expect(BACKED_UP.map(({ name, columns }) => [name, columns])).toEqual(expected);
  });

  it('is written to a private file, whatever the umask, and replaces no file', async () => {
    const database = await openFilled('sqlite');
    const file = newFile();
    const run = () =>
      runProgram('keys/cli/main.ts', ['export', file], { DATABASE_URL: database.url }, [
        'sh',
        '-c',
        'umask 0; exec "$@"',
        'sh',
      ]);
    expect((await run()).code).toBe(0);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readdirSync(path.dirname(file))).toEqual([path.basename(file)]);
    const again = await run();
    expect([again.code, again.stderr]).toEqual([1, expect.stringContaining('exists already')]);
    const nowhere = await runKeys(database, ['export', '/no/such/folder/keys.backup']);
    expect(nowhere.stderr).toMatch(/^\/no\/such\/folder\/keys\.backup cannot be written: ENOENT/);
    await database.close();
  });

  it('contains the hash of a key, but not the key', async () => {
    const database = await openKeyTables('sqlite');
    const key = (await runKeys(database, ['issue'])).stdout.trim();
    const text = await exportTo(database);
    expect(text).toContain(hashKey(key));
    expect(text).not.toContain(key);
    await database.close();
  });
});

describe.each(KINDS)('exported from %s', (from) => {
  it.each(KINDS)('and imported into %s, everything is as before', async (to) => {
    const source = await openFilled(from);
    const before = await contentOf(source);
    const file = newFile();
    const text = await exportTo(source, file);
    expect(await exportTo(source)).toBe(text);
    const target = await openKeyTables(to);
    const done = await runKeys(target, ['import', file]);
    expect([done.code, done.stdout]).toEqual([0, '']);
    const after = await contentOf(target);
    const empty = Object.fromEntries(Object.keys(NOT_BACKED_UP).map((name) => [name, []]));
    expect(after).toEqual({ ...before, ...empty });
    // The same rows give the same bytes, on every database.
    expect(await exportTo(target)).toBe(text);
    // The next key has a new id, and the history is protected again.
    const next = await runKeys(target, ['issue']);
    expect(next.code).toBe(0);
    const [[newest] = []] = await target.rows('SELECT MAX(id) FROM api_keys');
    expect(newest).toBe(STATES.length + 2);
    await expect(target.run('DELETE FROM key_events')).rejects.toThrow('cannot be rewritten');
    await source.close();
    await target.close();
  });
});

describe.each(KINDS)('an import into %s', (kind) => {
  let file: string;
  let text: string;
  let target: Database;
  let lines: string[];
  beforeEach(async () => {
    const source = await openFilled('sqlite');
    file = newFile();
    text = await exportTo(source, file);
    lines = text.trimEnd().split('\n');
    await source.close();
    target = await openKeyTables(kind);
    await createTables(target, ACCOUNTS_TABLE);
    return () => target.close();
  });

  /** @returns the message of the refusal, after a check that nothing was imported */
  async function refusalOf(...words: string[]): Promise<string> {
    const before = await contentOf(target);
    const { code, stderr } = await runKeys(target, ['import', ...words]);
    expect(code).toBe(1);
    expect(await contentOf(target)).toEqual(before);
    return stderr;
  }

  it('refuses tables with rows; with --add, it adds what is missing', async () => {
    expect((await runKeys(target, ['import', file])).code).toBe(0);
    expect(await refusalOf(file)).toContain('has rows already');
    const again = await runKeys(target, ['import', file, '--add']);
    expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('were added: 0.')]);
    await target.run('DELETE FROM accounts WHERE id = 1');
    const added = await runKeys(target, ['import', file, '--add']);
    expect([added.code, added.stderr]).toEqual([0, expect.stringContaining('were added: 1.')]);
    await target.run("UPDATE api_keys SET state = 'approved' WHERE state = 'revoked'");
    expect(await refusalOf(file, '--add')).toMatch(/api_keys with id \d has another state than/);
  });

  it('refuses a damaged file', async () => {
    const damaged: [string, string, string][] = [
      ['cut', text.slice(0, text.length / 2), 'its last line is cut'],
      ['without its end', `${lines.slice(0, -1).join('\n')}\n`, 'its last line is missing'],
      ['with a row less', `${lines.toSpliced(2, 1).join('\n')}\n`, 'rows are missing'],
      ['changed', text.replace('an operator', 'An operator'), 'its content was changed'],
      ['followed by more', `${text}[]\n`, 'something follows'],
      ['of a newer version', text.replace('"version":1', '"version":2'), 'the version 2'],
      ['with an unknown column', text.replace('"email"', '"phone"'), 'accounts.phone'],
      [
        'with an unknown table',
        text.replace('"api_keys":[', '"other":["id"],"api_keys":['),
        'other',
      ],
      ['that is not a backup', '{}\n', 'not that of a backup'],
      ['that is empty', '', 'its last line is missing'],
      ['of one long line', 'x'.repeat(3_000_000), 'too long'],
    ];
    for (const [name, content, expected] of damaged) {
      const other = path.join(path.dirname(file), name);
      writeFileSync(other, content);
      expect([name, await refusalOf(other)]).toEqual([name, expect.stringContaining(expected)]);
    }
    expect(await refusalOf('/no/such/file')).toContain('no such file');
    expect(await refusalOf(path.dirname(file))).toContain('is a directory');
  });

  it('undoes everything if the database refuses a row', async () => {
    // An index that the backup does not know, so that its last keys cannot be inserted.
    await target.run('CREATE UNIQUE INDEX one_purpose ON key_events (key_id)');
    expect(await refusalOf(file)).toMatch(/UNIQUE|Duplicate/);
  });

  it('leaves out accounts that are a view', async () => {
    await target.run('DROP TABLE accounts');
    await target.run(
      "CREATE VIEW accounts AS SELECT 1 AS id, 'a@b.c' AS email, 'A' AS name, 'user' AS role",
    );
    const done = await runKeys(target, ['import', file]);
    expect([done.code, done.stderr]).toEqual([
      0,
      expect.stringContaining('accounts were left out'),
    ]);
    expect(await runKeys(target, ['export', newFile()])).toMatchObject({
      stderr: expect.stringContaining('Back up those of your site separately'),
    });
  });
});

it('two imports at once: one of them restores everything, the other nothing', async () => {
  const source = await openFilled('mysql');
  const file = newFile();
  const text = await exportTo(source, file);
  for (const kind of KINDS) {
    const target = await openKeyTables(kind);
    const url = (target as Database & { url: string }).url;
    const both = await Promise.all(
      [1, 2].map(() => runProgram('keys/cli/main.ts', ['import', file], { DATABASE_URL: url })),
    );
    expect([kind, both.map(({ code }) => code).toSorted()]).toEqual([kind, [0, 1]]);
    expect(await exportTo(target)).toBe(text);
    await target.close();
  }
  await source.close();
});
