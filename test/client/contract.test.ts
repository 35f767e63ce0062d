/** The types of the client are those of openapi.yaml. */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { ROOT } from '../support/product.ts';

const folder = path.join(ROOT, 'client');

test('client/contract.ts is what `npm run contract` makes in client/', async () => {
  const { scripts } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'));
  const output = ' --output contract.ts';
  expect(scripts.contract).toMatch(`openapi-typescript ../openapi.yaml${output}`);
  const generator = path.join(folder, 'node_modules/openapi-typescript/bin/cli.js');
  // Without --output it prints what it makes.
  const { stdout } = await promisify(execFile)(process.execPath, [generator, '../openapi.yaml'], {
    cwd: folder,
  });
  expect(readFileSync(path.join(folder, 'contract.ts'), 'utf8')).toBe(stdout);
});
