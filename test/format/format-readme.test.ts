/** The worked example of `format/README.md` gives what it shows: one game read by hand, in a shell. */
import { spawnSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { runSnapshot } from '../../commands/run-snapshot.ts';
import { CURRENT } from '../../format/layout.ts';
import { makeSampleSnapshots } from '../catalogue/snapshots.ts';
import { ROOT, runCommand } from '../support/product.ts';

const readme = readFileSync(path.join(ROOT, 'format/README.md'), 'utf8');
const example = readme.slice(readme.indexOf('\n## Reading one game by hand\n'));
const blocks = [...example.matchAll(/^```(sh|text)\n(.*?)^```$/gms)];
const textOf = (kind: string) =>
  blocks.filter(([, found]) => found === kind).map(([, , text]) => text as string);

function runExample(folder: string): string[] {
  const script = textOf('sh')
    .join("printf '\\f'\n")
    .replace(/^cd \S+/, `cd '${folder}'`);
  const { status, stdout, stderr } = spawnSync('sh', ['-eu', '-c', script], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split('\f');
}

test('prints the shown output in the folder of the repository', () => {
  expect(textOf('sh')).toHaveLength(3);
  const [, folder = ''] = /^cd (\S+)/.exec(textOf('sh')[0]) ?? [];
  expect(runExample(folder)).toEqual(textOf('text'));
});

test('finds a record of another catalogue, and its hash', async () => {
  const sample = await makeSampleSnapshots();
  const target = '/games/snes/chrono-trigger';
  expect(example).toContain(`\`${target}\``);
  const shown = await runCommand(runSnapshot, ['show', target], {
    SNAPSHOTS_DIR: sample,
  });
  const found = runExample(path.join(sample, CURRENT)).at(-1)?.trimEnd().split('\n') ?? [];
  expect(found[0]).toBe(shown.stdout);
  expect(JSON.parse(found[0]).title).toBe('Chrono Trigger');
  const [, computed = '', stored = ''] = found;
  expect(stored.replaceAll(' ', '')).toBe(computed);
  expect(hash('sha256', shown.stdout).slice(0, 16)).toBe(computed);
});
