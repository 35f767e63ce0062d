/** Runs `cover-catalogue doctor`, or one of its checks, in this process. */
import { readConfiguration } from '../../doctor/checks/configuration.ts';
import { makeDatabaseAccess } from '../../doctor/checks/database/server.ts';
import type { Check, Finding, Program } from '../../doctor/findings/check.ts';
import { runChecks } from '../../doctor/findings/run-checks.ts';
import { runDoctor } from '../../doctor/run-doctor.ts';
import { type Finished, runCommand } from '../support/product.ts';

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
}

export async function diagnose(
  environment: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): Promise<Diagnosis> {
  const finished = await runCommand(runDoctor, ['--json', ...args], environment);
  if (finished.stdout === '') throw new Error(`The doctor printed nothing: ${finished.stderr}`);
  const { worst, checks } = JSON.parse(finished.stdout) as {
    worst: string;
    checks: { name: string; findings: Found[] }[];
  };
  return {
    ...finished,
    worst,
    names: checks.map(({ name }) => name),
    of(name, all) {
      const check = checks.find((candidate) => candidate.name === name);
      if (check === undefined) throw new Error(`There is no check "${name}".`);
      return check.findings.filter(({ level }) => all === 'all' || level !== 'ok');
    },
  };
}

/**
 * Runs one check.
 * @returns its findings, those that are "ok" included
 */
export async function examine(
  check: Check,
  variables: Readonly<Record<string, string>>,
  {
    programs = ['schedule', 'proxy', 'account'],
    proxyUser,
  }: { programs?: readonly Program[]; proxyUser?: string } = {},
): Promise<readonly Finding[]> {
  const access = makeDatabaseAccess();
  const scene = {
    ...readConfiguration(programs, variables),
    misspelled: [],
    variables,
    programs,
    proxyUser,
    database: () => access.openAndReport(scene),
  };
  try {
    const options = { limitMs: 10_000, redact: (text: string) => text };
    const [result] = await runChecks([check], scene, options);
    return result?.findings ?? [];
  } finally {
    await access.close();
  }
}

/** The findings that are not "ok". */
export function faultsIn(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter(({ level }) => level !== 'ok');
}
