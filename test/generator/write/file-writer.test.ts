/** What happens to a file whose content cannot be written. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, test } from 'vitest';
import { Output } from '#generator/write/file-writer.ts';

test('a file is closed if its content cannot be made', async () => {
  const dir = mkdtempSync(path.join(tmpdir(), 'output-'));
  const output = new Output(dir);
  const descriptors = () => readdirSync('/proc/self/fd').length;
  const before = descriptors();
  for (let i = 0; i < 50; i++) {
    const fill = () => {
      throw new Error('damaged');
    };
    await expect(output.fill(`file-${i}`, fill)).rejects.toThrow('damaged');
  }
  expect(descriptors()).toBeLessThan(before + 50);
  await output.write('whole', ['a', Buffer.from('b')]);
  await output.allSynced();
  expect(readFileSync(path.join(dir, 'whole'), 'utf8')).toBe('ab');
  rmSync(dir, { recursive: true });
});
