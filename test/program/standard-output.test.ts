/** A command whose output cannot be written: the reader is gone, or the disk is full. */
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { ROOT, startProgram } from '../support/product.ts';

test('a command whose reader is gone ends without a message, as after SIGPIPE', async () => {
  const child = startProgram('commands/snapshot.ts', ['list'], {
    SNAPSHOTS_DIR: await makeSampleSnapshots(),
  });
  let errors = '';
  child.stderr?.setEncoding('utf8').on('data', (text) => {
    errors += text;
  });
  child.stdout?.destroy();
  const code = await new Promise((resolve) => child.once('close', resolve));
  expect({ code, errors }).toEqual({ code: 141, errors: '' });
});

test('a command whose output meets a full disk ends with 1 and says so', async () => {
  const { status, stderr } = spawnSync(
    'sh',
    ['-c', '"$0" "$1" list >/dev/full', process.execPath, path.join(ROOT, 'commands/snapshot.ts')],
    { encoding: 'utf8', env: { ...process.env, SNAPSHOTS_DIR: await makeSampleSnapshots() } },
  );
  expect(status).toBe(1);
  expect(stderr).toContain('The output could not be written: ');
});
