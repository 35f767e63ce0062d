/** Regenerates the golden fixture. `test/fixtures/README.md` says when to do that. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { makeFixture } from './fixture.ts';

const folder = path.join(import.meta.dirname, '../fixtures/golden');
rmSync(folder, { recursive: true, force: true });
await makeFixture(folder);
