/**
 * What is said about files and folders that the user of this process may not use. configuration.test.ts
 * runs it as a user to whom their modes apply. It prints JSON: by the name of each case, a message.
 */
import { chmodSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { runKeys } from '#cli/keys.ts';
import { createKeysTables } from '#keys/tables/schema.ts';
import { openDatabase } from '#lib/database/open.ts';
import { checkReadableFolder, checkWritableFolder } from '#lib/program/folders.ts';

const said: Record<string, string> = {};

function check(name: string, run: () => void): void {
  try {
    run();
    said[name] = 'nothing';
  } catch (error) {
    said[name] = (error as Error).message;
  }
}

mkdirSync('closed', { mode: 0o555 });
check('write', () => checkWritableFolder('closed'));
check('create', () => checkWritableFolder('closed/new/one'));
mkdirSync('dark/inner', { recursive: true });
chmodSync('dark', 0o300);
check('read', () => checkReadableFolder('dark'));
chmodSync('dark', 0o600);
check('enter', () => checkReadableFolder('dark/inner'));
chmodSync('dark', 0o700);

const CLOSINGS: readonly (readonly [name: string, close: (file: string) => void])[] = [
  ['a file that may not be opened', (file) => chmodSync(file, 0)],
  ['a file that may only be read', (file) => chmodSync(file, 0o444)],
  ['a folder that may only be read', (file) => chmodSync(path.dirname(file), 0o555)],
  ['a folder that may not be entered', (file) => chmodSync(path.dirname(file), 0)],
];
for (const [name, close] of CLOSINGS) {
  const file = path.resolve(name, 'catalogue.db');
  mkdirSync(name);
  const database = await openDatabase(`sqlite:${file}`, { create: true });
  await createKeysTables(database);
  await database.close();
  close(file);
  let stderr = '';
  const code = await runKeys({
    words: ['issue', '--note', 'x'],
    variables: () => ({ DATABASE_URL: `sqlite:${file}` }),
    stdout: { write: () => {} },
    stderr: {
      write(text) {
        stderr += text;
      },
    },
  });
  chmodSync(path.dirname(file), 0o700);
  said[name] = `${code} ${stderr}`;
}
process.stdout.write(JSON.stringify(said));
