/**
 * How the tests run. The folder of a test decides when:
 *
 *     npm test            all but test/soak
 *     npm run test:quick  neither test/soak nor test/system: nothing needs a Debian package or five seconds
 *     npm run soak        test/soak, one file at a time; with `-- --quick` in short
 */
import './lib/program/environment/node-version.ts';
import { defineConfig } from 'vitest/config';

const IS_SOAK = process.env.SOAK !== undefined;
const IS_QUICK = process.env.QUICK === '1';

export default defineConfig({
  test: {
    include: [IS_SOAK ? 'test/soak/**/*.test.ts' : 'test/**/*.test.ts'],
    exclude: [
      '**/node_modules/**',
      ...(IS_SOAK ? [] : ['test/soak/**']),
      ...(IS_QUICK ? ['test/system/**'] : []),
    ],
    pool: 'forks',
    // Each process loads the product once, instead of once for each file: a third of the processor time.
    // The soak measures memory and delays, so each of its files has a process of its own.
    isolate: IS_SOAK,
    // More than the two cores of the smallest machine: tests wait for browsers, databases and programs.
    maxWorkers: 4,
    fileParallelism: !IS_SOAK,
    globalSetup: ['test/support/global-setup.ts'],
    setupFiles: ['test/support/end-of-file.ts'],
    testTimeout: IS_SOAK ? 7_200_000 : 60_000,
    hookTimeout: IS_SOAK ? 600_000 : 120_000,
    // A test that asserts nothing fails.
    expect: { requireAssertions: true },
  },
});
