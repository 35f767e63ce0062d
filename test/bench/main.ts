/**
 * `npm run bench -- [PART …] [--rounds N] [--seconds N] [--games N]`: runs the named parts, or all, and writes
 * the section of each into RESULTS.md. The sections of other parts are kept.
 */
import '../../program/environment/node-version.ts';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { describeMachine } from './machine.ts';
import type { PartOptions, RunPart } from './part.ts';

const RESULTS = path.join(import.meta.dirname, 'RESULTS.md');
const PARTS = {
  http: 'HTTP',
  serving: 'Opening and threads',
  'shared-limits': 'Shared limits',
  'access-log': 'Access log',
  search: 'Search',
  generator: 'Generator',
  incremental: 'Runs that read only what has changed',
  bounds: 'What bounds a full run',
} as const;
type Part = keyof typeof PARTS;

const INTRODUCTION = `# Benchmark results

Written by \`npm run bench\`. Each section is from one run on one machine, in which all candidates were measured in turn. Ratios carry over to other machines far better than absolute figures.
`;

const USAGE = `npm run bench -- [PART …] [--rounds N] [--seconds N] [--games N]

  PART       ${Object.keys(PARTS).join(', ')}; by default all of them
  --rounds   how many times each measurement is repeated (3)
  --seconds  how long one measurement of steady load lasts (4)
  --games    how many games the catalogues of "incremental" and "bounds" have (300000)
`;

async function main(): Promise<void> {
  const { parts, ...settings } = readArguments();
  const options: PartOptions = {
    ...settings,
    report: (text) => process.stderr.write(`${text}\n`),
  };
  for (const part of parts) {
    options.report(`${PARTS[part]} …`);
    const { run } = (await import(`./${part}.ts`)) as { run: RunPart };
    const facts = describeMachine();
    const body = await run(options);
    writeSection(part, `## ${PARTS[part]}\n\n${facts}\n\n${body.trim()}\n`);
  }
  options.report(`Written: ${path.relative(process.cwd(), RESULTS)}`);
}

function readArguments() {
  const { values, positionals } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      games: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    },
    allowPositionals: true,
  });
  if (values.help) {
    process.stdout.write(USAGE);
    process.exit(0);
  }
  for (const name of positionals) {
    if (!Object.hasOwn(PARTS, name)) throw new Error(`There is no part ${name}.\n\n${USAGE}`);
  }
  const count = (name: 'rounds' | 'seconds' | 'games') => {
    const value = Number(values[name]);
    if (Number.isInteger(value) && value > 0) return value;
    throw new Error(`--${name} must be a whole number of at least 1, not ${values[name]}.`);
  };
  const named = (Object.keys(PARTS) as Part[]).filter((part) => positionals.includes(part));
  const parts = positionals.length > 0 ? named : (Object.keys(PARTS) as Part[]).filter(isThere);
  const games = values.games === undefined ? undefined : count('games');
  return { parts, rounds: count('rounds'), seconds: count('seconds'), games };
}

function isThere(part: Part): boolean {
  return existsSync(path.join(import.meta.dirname, `${part}.ts`));
}

function writeSection(part: Part, section: string): void {
  const before = existsSync(RESULTS) ? readFileSync(RESULTS, 'utf8') : '';
  const sections = Object.entries(PARTS).flatMap(([name, title]) => {
    if (name === part) return [section];
    const known = before.split(/^(?=## )/m).find((text) => text.startsWith(`## ${title}\n`));
    return known === undefined ? [] : [known];
  });
  writeFileSync(
    RESULTS,
    `${[INTRODUCTION, ...sections].map((text) => text.trimEnd()).join('\n\n')}\n`,
  );
}

// The processes of a part end with this process, and its files are removed on `exit`.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
