/**
 * Regenerates the golden fixtures of the version that this code writes, and of the version after it.
 * `test/fixtures/README.md` says when to do that.
 */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { FORMAT_VERSION } from '../../format/layout.ts';
import { makeFixture, makeFutureFixture } from './fixture.ts';

const [present = '', future = ''] = [`version-${FORMAT_VERSION}`, 'future-version'].map((name) =>
  path.join(import.meta.dirname, '../fixtures', name),
);
for (const dir of [present, future]) rmSync(dir, { recursive: true, force: true });
await makeFixture(present);
makeFutureFixture(present, future);
