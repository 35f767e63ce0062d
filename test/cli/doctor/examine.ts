/** Runs one check of `cover-catalogue doctor`. */

import type { Check, CheckContext, Finding, Program } from '#cli/doctor/check.ts';
import { readConfiguration } from '#cli/doctor/checks/configuration.ts';
import { changes, keys, sample } from '#cli/doctor/checks/database.ts';
import { grants } from '#cli/doctor/checks/grants.ts';
import { runCheck } from '#cli/doctor.ts';
import { openDatabase } from '#lib/database/open.ts';
import type { Texts } from '#test/support/processes.ts';

const NEEDS_DATABASE: readonly string[] = [changes, grants, keys, sample].map(({ name }) => name);
const LIMIT_MS = 10_000;

/** @returns all findings of the check, those that are "ok" included */
export async function examine(
  check: Check,
  variables: Texts,
  programs: readonly Program[] = ['schedule', 'proxy', 'account'],
  proxyUser?: string,
): Promise<readonly Finding[]> {
  const { DATABASE_URL: url } = variables;
  const context: CheckContext = {
    ...readConfiguration(programs, variables),
    variables,
    programs,
    proxyUser,
  };
  if (NEEDS_DATABASE.includes(check.name) && url !== undefined)
    context.database = await openDatabase(url);
  try {
    return await runCheck(check, context, LIMIT_MS);
  } finally {
    await context.database?.close();
  }
}

/** The findings that are not "ok". */
export function faultsIn(findings: readonly Finding[]): readonly Finding[] {
  return findings.filter(({ level }) => level !== 'ok');
}
