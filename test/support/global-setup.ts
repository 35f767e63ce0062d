/** Starts the MariaDB server that all test files share, and stops it after the last one. */
import type { TestProject } from 'vitest/node';
import { type MariaDb, startMariaDb } from './servers/mariadb.ts';

declare module 'vitest' {
  interface ProvidedContext {
    mariaDb: { port: number; socketPath: string; pid: number };
  }
}

let server: MariaDb | undefined;

export async function setup(project: TestProject): Promise<void> {
  server = await startMariaDb();
  const { port, socketPath, pid } = server;
  project.provide('mariaDb', { port, socketPath, pid });
}

export async function teardown(): Promise<void> {
  await server?.stop();
}
