/** The times of the stages of a run. */
import { expect, test, vi } from 'vitest';
import { measureTimes } from '../../../generator/cli/run-generator.ts';

test('a stage that a run passes through twice has the sum of both times', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const { progress, end } = measureTimes({ advance() {}, step() {}, warn() {}, end() {} });
  vi.advanceTimersByTime(200);
  progress.advance('reading games', 10, 0.5);
  vi.advanceTimersByTime(300);
  progress.advance('reading games', 20, 1);
  progress.step('writing packs');
  vi.advanceTimersByTime(1_000);
  // What the earlier run has left turns out to be damaged, and all rows are read.
  progress.step('reading all rows');
  progress.advance('reading games', 20, 1);
  vi.advanceTimersByTime(50);
  progress.advance('reading games', 20, 1);
  vi.useRealTimers();
  expect(end().stages).toMatchObject({ 'reading games': 0.55, 'writing packs': 1 });
});
