/** Shows the progress of a pull on a terminal. */

import { megabytes, type PullReport } from '../depot/pull/pull.ts';
import type { Progress } from '../program/progress.ts';

export function reportProgress({ advance, step, warn }: Progress): PullReport {
  return {
    advance: (staged, size) =>
      advance(
        'fetching',
        `${megabytes(staged)} of ${megabytes(size)} MB`,
        size === 0 ? 1 : staged / size,
      ),
    step,
    warn,
  };
}
