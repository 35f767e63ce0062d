/** `cover-catalogue doctor`: checks an installation and says how to fix what is wrong. It changes nothing. */
import { setTimeout as pause } from 'node:timers/promises';
import { readArguments, readValue } from '../lib/program/arguments.ts';
import { oneOfWords } from '../lib/program/environment/values.ts';
import { makeCommand, messageOf } from '../lib/program/failure.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { printable, printableJson } from '../lib/program/printable.ts';
import {
  type Check,
  type CheckContext,
  type Finding,
  type Findings,
  type Level,
  PROGRAMS,
  type Program,
  SkippedError,
} from './doctor/check.ts';
import { addresses } from './doctor/checks/addresses.ts';
import { configuration, readConfiguration } from './doctor/checks/configuration.ts';
import { changes, database, keys, sample } from './doctor/checks/database.ts';
import { depots } from './doctor/checks/depots.ts';
import { grants } from './doctor/checks/grants.ts';
import { certificate, mail } from './doctor/checks/network.ts';
import { account, proxy, replica, schedule } from './doctor/checks/running.ts';
import { snapshots, space } from './doctor/checks/snapshots.ts';

const USAGE = `cover-catalogue doctor [--for PROGRAM]… [--proxy-user USER]
                       [--json] [--strict]

Checks the installation and says how to fix what is wrong. It checks the
configuration, database, rights, snapshots folder, disk space, depots, mail
server, certificate and running programs, and shows sample records as the API would
serve them. Of these, it asks for one page of the site and one image. It changes
nothing, sends no e-mail, and prints no secret.

  --for PROGRAM      check only what this program needs: schedule, proxy, account
                     or replica. Run it as the user of the program, in its
                     environment. May be repeated (default: schedule, proxy and
                     account)
  --proxy-user USER  the user of the proxy (default: the owner of the folder
                     "proxy" in SNAPSHOTS_DIR)
  --json             print one JSON object
  --strict           also exit with 1 if there are only warnings

A check takes at most 10 seconds.

Exit codes: 0 no errors, 1 at least one error, 2 wrong usage.
`;
const LIMIT_MS = 10_000;
const DEFAULT_PROGRAMS: readonly Program[] = ['schedule', 'proxy', 'account'];
const CHECKS: readonly Check[] = [
  configuration,
  database,
  grants,
  sample,
  changes,
  addresses,
  keys,
  snapshots,
  space,
  depots,
  mail,
  certificate,
  schedule,
  proxy,
  account,
  replica,
];
const INDENT = ' '.repeat(11);

/** @returns the exit code: 0 no errors, 1 errors (with --strict, also warnings), 2 wrong usage */
export const runDoctor = makeCommand(examine);

async function examine({ words, variables: read, stdout }: Invocation): Promise<number> {
  const { texts, switches } = readArguments(USAGE, words);
  const readProgram = (name: string) => readValue('--for', name, oneOfWords(...PROGRAMS));
  const programs = texts.for?.split(',').map(readProgram) ?? DEFAULT_PROGRAMS;
  const variables = read();
  const context: CheckContext = {
    ...readConfiguration(programs, variables),
    variables,
    programs,
    proxyUser: texts['proxy-user'],
  };
  const results: { name: string; findings: readonly Finding[] }[] = [];
  for (const check of CHECKS.filter((each) => each.programs.some((p) => programs.includes(p)))) {
    const findings = await runCheck(check, context, LIMIT_MS);
    results.push({ name: check.name, findings });
    if (!switches.has('json')) stdout.write(asText(check.name, findings));
  }
  await context.database?.close();
  const levels = results.flatMap(({ findings }) => findings.map(({ level }) => level));
  const counts = { error: 0, warning: 0, skipped: 0, ok: 0 };
  for (const level of levels) counts[level]++;
  const worst = (Object.keys(counts) as Level[]).find((level) => counts[level] > 0) ?? 'ok';
  stdout.write(
    switches.has('json')
      ? `${printableJson({ worst, counts, checks: results })}\n`
      : `Errors: ${counts.error}, warnings: ${counts.warning}, skipped: ${counts.skipped}\n`,
  );
  return worst === 'error' || (worst === 'warning' && switches.has('strict')) ? 1 : 0;
}

/** Runs a check. One that fails or does not end becomes a finding, so that the others still run. */
export async function runCheck(
  check: Check,
  context: CheckContext,
  limitMs: number,
): Promise<Finding[]> {
  const found: Finding[] = [];
  const findings: Findings = {
    ok: (text, data) => found.push({ level: 'ok', text, ...(data === undefined ? {} : { data }) }),
    warn: (text, fix) => found.push({ level: 'warning', text, fix }),
    error: (text, fix) => found.push({ level: 'error', text, fix }),
  };
  const late = pause(limitMs, 'late', { ref: false });
  try {
    if ((await Promise.race([check.run(context, findings), late])) === 'late') {
      findings.error(
        `This check did not end within ${limitMs / 1000} seconds.`,
        'Find out what is slow: a busy database, a network that drops packets, or a disk that does not respond.',
      );
    }
  } catch (error) {
    const text = messageOf(error);
    if (error instanceof SkippedError) found.push({ level: 'skipped', text, fix: error.fix });
    else findings.error(text, check.fix);
  }
  // Copied: a check that did not end in time may still be running.
  return [...found];
}

function asText(name: string, findings: readonly Finding[]): string {
  // Messages can quote values of rows, and have several lines.
  const onLine = (text: string) => printable(text.replaceAll(/\s*\n\s*/g, ' '));
  const lines = findings.flatMap(({ level, text, fix, data = [] }) => [
    `  ${(fix && level !== 'skipped' ? level.toUpperCase() : level).padEnd(9)}${onLine(text)}`,
    ...(fix === undefined ? [] : [`${INDENT}Fix: ${onLine(fix)}`]),
    ...data.map((record) => `${INDENT}${printableJson(record)}`),
  ]);
  return `${[name, ...lines].join('\n')}\n\n`;
}
