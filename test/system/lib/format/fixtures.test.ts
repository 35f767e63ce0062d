/**
 * Compares the code with golden files: an unnoticed change of the bytes fails. What is written today is read,
 * so what was published once is read, too, for as long as the version stays. Commands refuse every other
 * version, and continue with what they served before.
 */
import { cpSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from 'vitest';
import { FORMAT_VERSION, KEYS_FILE, RESERVE_FILE, sequenceOf } from '#lib/format/layout.ts';
import { currentId, generationDir, idsOnDisk } from '#lib/generations/generations.ts';
import {
  FIXTURE_KEY,
  FUTURE_VERSION,
  makeFixture,
  makeFutureFixture,
} from '#test/catalogue/fixture.ts';
import { makeFolder, ROOT, runSnapshots as snapshot, startProxy } from '#test/support/product.ts';

const PRESENT = path.join(ROOT, `test/fixtures/version-${FORMAT_VERSION}`);
/** The same rows as a later version could write them: only its version can be the reason to refuse it. */
const FUTURE = path.join(makeFolder(), 'future');
makeFutureFixture(PRESENT, FUTURE);

const REFUSAL =
  `manifest.json has format version ${FUTURE_VERSION}; this program reads version ${FORMAT_VERSION}. ` +
  'Generate again with this program, or serve with the one that wrote it.';

const idOf = (dir: string) => currentId(dir) as string;

function copyOf(fixture: string): string {
  const dir = path.join(makeFolder(), 'snapshots');
  cpSync(fixture, dir, { recursive: true, verbatimSymlinks: true });
  return dir;
}

/** Adds the generation of another version to a folder. @returns its id */
function addGeneration(dir: string, fixture: string): string {
  const id = idOf(fixture);
  cpSync(generationDir(fixture, id), generationDir(dir, id), { recursive: true });
  return id;
}

/** Every file and link of a folder by its name, with its content; but the reserve, which is random. */
function contentOf(dir: string): Record<string, string> {
  const entries = readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory() && entry.name !== RESERVE_FILE)
    .map((entry): [string, string] => {
      const file = path.join(entry.parentPath, entry.name);
      const content = entry.isSymbolicLink()
        ? `-> ${readlinkSync(file)}`
        : readFileSync(file, 'latin1');
      return [path.relative(dir, file), content];
    });
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Names first, since a byte that differs says little without its file. */
function expectSame(found: string, golden: string): void {
  const left = contentOf(found);
  const right = contentOf(golden);
  expect(Object.keys(left)).toEqual(Object.keys(right));
  const changed = Object.keys(left).filter((name) => left[name] !== right[name]);
  expect(changed, 'test/fixtures/README.md says what to do').toEqual([]);
}

describe('the version that this code writes', () => {
  test('is what the same rows give today, byte for byte', async () => {
    const dir = path.join(makeFolder(), 'snapshots');
    await makeFixture(dir);
    expectSame(dir, PRESENT);
  });
});

describe('a generation of an unknown version', () => {
  test('is refused by each verb of the snapshot command that reads it', async () => {
    const dir = copyOf(PRESENT);
    const own = idOf(PRESENT);
    const other = addGeneration(dir, FUTURE);
    for (const args of [
      ['verify', other],
      ['show', '/games/snes/chrono-trigger', other],
      ['show', '/search?q=chrono', other],
      ['diff', own, other],
      ['diff', other, own],
      ['rollback', other],
      ['rollback', '--no-hold', other],
    ]) {
      const { code, stdout, stderr } = await snapshot(dir, ...args);
      expect([code, stdout], args.join(' ')).toEqual([1, '']);
      expect(stderr, args.join(' ')).toContain(REFUSAL);
    }
    expect(idOf(dir)).toBe(own);
    const { code, stdout } = await snapshot(dir, 'list');
    expect(code).toBe(0);
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(2);
    expect(lines.find((line) => line.startsWith('* '))).toMatch(
      new RegExp(`^\\* ${own} .* 14 games, 6 covers$`),
    );
    const refused = lines.find((line) => line.startsWith(`  ${other} `));
    expect(refused).toContain(REFUSAL);
  });

  test('stays as it is when this generator publishes its own next to it', async () => {
    const dir = copyOf(FUTURE);
    const other = idOf(FUTURE);
    await makeFixture(dir);
    expect(idsOnDisk(dir)).toEqual([other, currentId(dir)]);
    const sequence = String(sequenceOf(other) + 1).padStart(6, '0');
    expect(idOf(dir)).toBe(idOf(PRESENT).replace('000001', sequence));
    expect(contentOf(generationDir(dir, other))).toEqual(contentOf(generationDir(FUTURE, other)));
    expect((await snapshot(dir, 'verify')).code).toBe(0);
    // The keys are exported again, too.
    expect(readFileSync(path.join(dir, KEYS_FILE), 'utf8')).toContain('"version":1');

    const proxy = await startProxy(dir);
    const { status, headers } = await proxy.get('/stats', FIXTURE_KEY);
    expect([status, headers['x-snapshot']]).toEqual([200, idOf(dir)]);
    await proxy.stop();
  });
});
