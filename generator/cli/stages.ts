/** Measures how long each stage of a run takes, from the progress that the run reports. */
import type { Progress } from '../../program/progress.ts';

export interface Stages {
  /** Passes everything on, and takes the times. */
  readonly progress: Progress;
  /** Ends the stage under way. @returns for each stage so far, its seconds */
  end(): Record<string, number>;
}

/** The first stage begins now, and each other one when the one before it ends. */
export function measureStages(progress: Progress): Stages {
  const milliseconds: Record<string, number> = {};
  let began = performance.now();
  /** The stage under way, if its name is known before it ends. */
  let current: string | undefined;

  function note(stage: string): void {
    const now = performance.now();
    // A run that begins again passes through its first stages twice.
    milliseconds[stage] = (milliseconds[stage] ?? 0) + now - began;
    began = now;
    current = undefined;
  }
  function end(): Record<string, number> {
    if (current !== undefined) note(current);
    return Object.fromEntries(
      Object.entries(milliseconds).map(([stage, taken]) => [stage, Math.round(taken) / 1000]),
    );
  }

  return {
    progress: {
      ...progress,
      advance(step, done, share) {
        if (share === 1) note(step);
        progress.advance(step, done, share);
      },
      step(step) {
        end();
        current = step;
        progress.step(step);
      },
    },
    end,
  };
}
