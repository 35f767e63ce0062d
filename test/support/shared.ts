/** What all test files of a run share. Each part is started when a test first asks for it. */
import { inject } from 'vitest';

/** By its name, how each part is described to the processes of the tests. */
export interface Shared {
  /** A server in which each test has a database of its own. */
  databaseServer: { port: number };
  redis: { port: number; url: string };
  /** The address at which Playwright finds Chromium. */
  chromium: { endpoint: string };
  /** The sample catalogue in a SQLite file, and a snapshots folder with one generation of it, to be copied. */
  sample: { databaseFile: string; snapshotsDir: string };
}

export async function shared<Name extends keyof Shared>(name: Name): Promise<Shared[Name]> {
  if (process.env.QUICK === '1' && name !== 'sample') {
    throw new Error(`npm run test:quick starts no ${name}. The test belongs in test/system.`);
  }
  const response = await fetch(`${inject('shared')}/${name}`);
  const text = await response.text();
  if (!response.ok) throw new Error(`${name} could not be started: ${text}`);
  return JSON.parse(text);
}
