/**
 * How the tests run: on the Node that the product needs, each file in a process of its own, beside
 * one private MariaDB server for all of them. What is measured runs alone.
 */
import './environment/node-version.ts';
import { defineConfig } from 'vitest/config';

const MEASURED = ['test/whole-catalogue.test.ts'];

export default defineConfig({
  test: {
    globalSetup: ['test/global-setup.ts'],
    pool: 'forks',
    testTimeout: 30_000,
    hookTimeout: 120_000,
    projects: [
      {
        extends: true,
        test: {
          name: 'behaviour',
          include: ['test/**/*.test.ts'],
          exclude: ['test/bench/**', ...MEASURED],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'measured', include: MEASURED, sequence: { groupOrder: 1 } },
      },
    ],
  },
});
