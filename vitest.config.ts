/**
 * How the tests run: on the Node that the product needs, each file in a process of its own, beside
 * one private MariaDB server for all of them.
 */
import './environment/node-version.ts';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/bench/**'],
    globalSetup: ['test/global-setup.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 120_000,
  },
});
