/** Regenerates the golden fixtures. `test/fixtures/README.md` says when to do that. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { makeFixture, makeFutureFixture } from './fixture.ts';

const [version1 = '', future = ''] = ['version-1', 'future-version'].map((name) =>
  path.join(import.meta.dirname, '../fixtures', name),
);
for (const dir of [version1, future]) rmSync(dir, { recursive: true, force: true });
await makeFixture(version1);
makeFutureFixture(version1, future);
