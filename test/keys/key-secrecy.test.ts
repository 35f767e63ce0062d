/**
 * Each raw key is shown once and stored nowhere, and the keys file contains only revealed keys.
 */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { hashKey, isWellFormedKey } from '../../format/api-key.ts';
import { parseKeys } from '../../format/keys-file.ts';
import { exportKeys } from '../../generator/keys/export-keys.ts';
import { runKeys } from '../../keys/cli/run-keys.ts';
import { passMailPause } from '../support/account.ts';
import { type Finished, makeFolder, runCommand } from '../support/product.ts';
import { type KeysDatabase, openKeysDatabase, STATES } from './keys-database.ts';

describe('every place', () => {
  let database: KeysDatabase;
  const folder = makeFolder();
  const snapshotsDir = path.join(folder, 'snapshots');
  const mailFolder = path.join(folder, 'mail');
  beforeAll(async () => {
    database = await openKeysDatabase('sqlite');
  });
  afterAll(() => database.close());

  const keys = (...args: string[]): Promise<Finished> =>
    runCommand(runKeys, args, { DATABASE_URL: database.url, MAIL_FOLDER: mailFolder });
  const exported = async () => {
    await exportKeys(database, snapshotsDir);
    return parseKeys(readFileSync(path.join(snapshotsDir, 'keys.json'), 'utf8'));
  };

  it('a raw key is in the output that reveals it and nowhere else', async () => {
    const owner = await database.addOwner();
    const outputs: string[] = [];
    const raw: string[] = [];
    const done = async (...args: string[]) => {
      const { code, stdout, stderr } = await keys(...args);
      expect([code, code === 0 ? '' : stderr]).toEqual([0, '']);
      outputs.push(stderr);
      return stdout.trimEnd();
    };
    const receiveKey = async (...args: string[]) => {
      raw.push(await done(...args));
      expect(isWellFormedKey(raw.at(-1) as string)).toBe(true);
    };
    const fields = ['--account', String(owner.id), '--purpose', 'x', '--url', 'https://x.example'];
    await receiveKey('issue', '--note', 'mine');
    await done('request', ...fields);
    await done('approve', '2');
    await receiveKey('reveal', '2');
    await receiveKey('rotate', '2');
    const inUse = await exported();
    await done('limit', '2', '7');
    for (const verb of ['list', 'history', 'outbox']) {
      outputs.push(await done(verb, ...(verb === 'history' ? ['2'] : []), '--json'));
    }
    await done('outbox', '--send');
    await passMailPause(database);
    await done('outbox', '--send');
    await passMailPause(database);
    await done('revoke', '2', '--reason', 'a test');
    outputs.push(await done('outbox', '--send', '--all'));
    await exported();

    expect(new Set(raw).size).toBe(3);
    expect(inUse.map(({ hash }) => hash)).toEqual(
      [raw[0], raw[2]].map((key) => hashKey(key ?? '')),
    );
    const places = {
      database: contentOf(path.dirname(database.url.slice('sqlite:'.length))),
      mails: contentOf(mailFolder),
      keysFile: contentOf(snapshotsDir),
      outputs: outputs.join('\n'),
    };
    // Each place contains what it should, so the search below covers the right content.
    expect(places.database).toContain(hashKey(raw[2]));
    expect(places.mails).toContain('is approved');
    expect(places.mails).toContain('was revoked');
    expect(places.keysFile).toContain(hashKey(raw[0]));
    for (const [place, content] of Object.entries(places)) {
      for (const key of raw) {
        expect([place, content.includes(key)]).toEqual([place, false]);
        // Nor the secret part of the key, as text, hexadecimal or base64.
        const tail = Buffer.from(key.slice(8));
        for (const form of [
          String(tail),
          tail.toString('hex'),
          tail.toString('base64').slice(0, 36),
        ]) {
          expect([place, content.includes(form)]).toEqual([place, false]);
        }
      }
    }
  });

  it('the keys file contains only revealed keys, and revoked ones', async () => {
    const owner = await database.addOwner();
    const ids = new Map<string, number>();
    for (const state of STATES) ids.set(state, await database.keyIn(state, owner.id));
    const mine = new Set(ids.values());
    const entries = (await exported()).filter(({ id }) => mine.has(id));
    expect(entries).toEqual([
      {
        id: ids.get('revealed'),
        state: 'approved',
        limit: 60,
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
      { id: ids.get('revoked'), state: 'revoked', limit: 60, hash: expect.any(String) },
    ]);
    expect(statSync(path.join(snapshotsDir, 'keys.json')).mode & 0o777).toBe(0o600);
  });
});

function contentOf(folder: string): string {
  return readdirSync(folder)
    .map((name) => readFileSync(path.join(folder, name), 'latin1'))
    .join('\n');
}
