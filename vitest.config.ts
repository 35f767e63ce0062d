/**
 * How the tests run: on the Node that the product needs, each file in a process of its own, beside
 * one private MariaDB server for all of them. What is measured runs alone, and so does each file of
 * the soak (`SOAK=1`), which are those with a full form.
 */
import './program/environment/node-version.ts';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { defineConfig } from 'vitest/config';
import { IS_SOAK } from './test/support/rounds.ts';

const MEASURED = [
  'test/generator/whole-catalogue.test.ts',
  'test/guarantees/slow-clients.test.ts',
  'test/guarantees/search-abuse.test.ts',
  // Keys take effect within five seconds.
  'test/keys/account/account-browser.test.ts',
];

const projects = [
  {
    extends: true as const,
    test: {
      name: 'behaviour',
      include: ['test/**/*.test.ts'],
      exclude: ['test/bench/**', ...MEASURED],
      sequence: { groupOrder: 0 },
    },
  },
  {
    extends: true as const,
    test: {
      name: 'measured',
      include: MEASURED,
      fileParallelism: false,
      sequence: { groupOrder: 1 },
    },
  },
];

const soak = [
  {
    extends: true as const,
    test: { name: 'soak', include: filesWithFullForm(), fileParallelism: false },
  },
];

function filesWithFullForm(): string[] {
  return fastGlob
    .sync('test/**/*.test.ts', { cwd: import.meta.dirname })
    .filter((file) =>
      readFileSync(path.join(import.meta.dirname, file), 'utf8').includes("/rounds.ts'"),
    );
}

export default defineConfig({
  test: {
    globalSetup: ['test/support/global-setup.ts'],
    pool: 'forks',
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A test that asserts nothing fails.
    expect: { requireAssertions: true },
    projects: IS_SOAK ? soak : projects,
  },
});
