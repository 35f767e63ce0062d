/** Runs `cover-catalogue doctor` as an operator does, and finds its findings. */
import { type Finished, runProgram } from '../support/product.ts';

export interface Found {
  readonly level: 'ok' | 'warning' | 'error' | 'skipped';
  readonly text: string;
  readonly fix?: string;
  // biome-ignore lint/suspicious/noExplicitAny: a test looks into records of any shape
  readonly data?: any;
}

export interface Diagnosis extends Finished {
  readonly worst: string;
  /** The findings of a check that are not "ok", or with `all`, all of them. */
  of(check: string, all?: 'all'): Found[];
  /** The names of the checks, in order. */
  readonly names: readonly string[];
  readonly seconds: number;
}

export async function diagnose(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
  launcher: readonly string[] = [],
): Promise<Diagnosis> {
  const started = performance.now();
  const finished = await runProgram('doctor/main.ts', ['--json', ...args], environment, launcher);
  const seconds = (performance.now() - started) / 1000;
  if (finished.stdout === '') throw new Error(`The doctor printed nothing: ${finished.stderr}`);
  const { worst, checks } = JSON.parse(finished.stdout) as {
    worst: string;
    checks: { name: string; findings: Found[] }[];
  };
  return {
    ...finished,
    ...{ worst, seconds, names: checks.map(({ name }) => name) },
    of(name, all) {
      const check = checks.find((candidate) => candidate.name === name);
      if (check === undefined) throw new Error(`There is no check "${name}".`);
      return check.findings.filter(({ level }) => all === 'all' || level !== 'ok');
    },
  };
}
