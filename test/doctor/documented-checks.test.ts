/** OPERATIONS.md describes each check of the doctor, in the order in which they run. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { PROGRAMS } from '../../doctor/findings/check.ts';
import { makeFolder, ROOT } from '../support/product.ts';
import { diagnose } from './installation.ts';

const TABLE = /\| check \| what it looks at \|\n[^\n]*\n((?:\|[^\n]*\n)+)/;

test('the table in OPERATIONS.md has all checks', async () => {
  const text = readFileSync(path.join(ROOT, 'OPERATIONS.md'), 'utf8');
  const [, rows = ''] = TABLE.exec(text) ?? [];
  const documented = rows.split('\n').flatMap((row) => {
    const [, names = ''] = row.split('|');
    return [...names.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  });
  const { names } = await diagnose(
    { DATABASE_URL: 'sqlite:/no/such/file.db', SNAPSHOTS_DIR: makeFolder() },
    PROGRAMS.flatMap((program) => ['--for', program]),
  );
  expect(documented).toEqual(names);
});
