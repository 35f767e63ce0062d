/** `cover-catalogue doctor`: checks an installation and says how to fix what is wrong. It changes nothing. */
import { existsSync } from 'node:fs';
import { readArguments } from '../program/arguments.ts';
import { ConfigurationError } from '../program/environment/environment.ts';
import { reportFailure } from '../program/failure.ts';
import type { Invocation } from '../program/invocation.ts';
import { certificate } from './checks/certificate.ts';
import { configuration, readConfiguration } from './checks/configuration.ts';
import { catalogue } from './checks/database/catalogue.ts';
import { grants } from './checks/database/grants.ts';
import { keys } from './checks/database/keys.ts';
import { sample } from './checks/database/sample.ts';
import { databaseCheck, makeDatabaseAccess } from './checks/database/server.ts';
import { depots, limits } from './checks/depots.ts';
import { descriptors } from './checks/descriptors.ts';
import { folder } from './checks/folder.ts';
import { mail } from './checks/mail.ts';
import { node } from './checks/node.ts';
import { proxyFiles } from './checks/proxy-files.ts';
import { publishing } from './checks/publishing.ts';
import { account, proxy, replica, schedule } from './checks/running.ts';
import { space } from './checks/space.ts';
import { type Check, PROGRAMS, type Program, type Scene } from './findings/check.ts';
import { asJson, asText, summaryOf } from './findings/report.ts';
import { runChecks, worstOf } from './findings/run-checks.ts';
import { makeRedaction } from './findings/secrets.ts';

const USAGE = `cover-catalogue doctor [--for PROGRAM]… [--proxy-user USER]
                       [--json] [--strict]

Checks the installation and says how to fix what is wrong. It checks the
configuration, database, rights, tables, folders, disk space, limits on open
files, mail server, certificate, depots and running programs, and shows
sample records as the API would serve them. It changes nothing, sends no e-mail,
and prints no secret.

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

/**
 * Runs the command.
 * @param misspelled misspelled names of variables, complete once the variables are read
 * @returns the exit code: 0 no errors, 1 errors (with --strict, also for warnings), 2 wrong usage
 */
export async function runDoctor(
  invocation: Invocation,
  misspelled: readonly string[] = [],
  limitMs = LIMIT_MS,
): Promise<number> {
  try {
    return await examine(invocation, misspelled, limitMs);
  } catch (error) {
    return reportFailure(error as Error, '', invocation.stderr);
  }
}

async function examine(
  { words, variables: readVariables, stdout }: Invocation,
  misspelled: readonly string[],
  limitMs: number,
): Promise<number> {
  const options = readArguments(
    USAGE,
    {
      for: { type: 'string', multiple: true },
      'proxy-user': { type: 'string' },
      json: { type: 'boolean' },
      strict: { type: 'boolean' },
    },
    words,
  );
  const programs = readPrograms(options.for);
  const variables = readVariables();
  const access = makeDatabaseAccess();
  const scene: Scene = {
    ...readConfiguration(programs, variables),
    misspelled,
    programs,
    variables,
    proxyUser: options['proxy-user'],
    database: access.open,
  };
  const checks: readonly Check[] = [
    node,
    configuration,
    databaseCheck(access),
    grants,
    catalogue,
    sample,
    keys,
    folder,
    space,
    publishing,
    proxyFiles,
    descriptors,
    mail,
    certificate,
    depots,
    limits,
    schedule,
    proxy,
    account,
    replica,
  ];
  const results = await runChecks(
    checks.filter((check) => check.programs.some((program) => programs.includes(program))),
    scene,
    {
      limitMs,
      redact: makeRedaction(variables, existsSync),
      ...(options.json ? {} : { onResult: (result) => stdout.write(asText(result)) }),
    },
  );
  stdout.write(options.json ? asJson(results) : summaryOf(results));
  await access.close();
  const worst = worstOf(results);
  return worst === 'error' || (worst === 'warning' && options.strict) ? 1 : 0;
}

/** @param names the values of --for */
function readPrograms(names: readonly string[] | undefined): readonly Program[] {
  return names?.map(readProgram) ?? DEFAULT_PROGRAMS;
}

function readProgram(name: string): Program {
  const program = PROGRAMS.find((known) => known === name);
  if (program !== undefined) return program;
  throw new ConfigurationError(
    `--for must be ${PROGRAMS.slice(0, -1).join(', ')} or ${PROGRAMS.at(-1)}, not ${JSON.stringify(name)}.\n\n${USAGE}`,
  );
}
