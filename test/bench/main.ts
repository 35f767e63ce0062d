/**
 * `npm run bench`: compares the product with what could replace its parts, in one run on this machine, and prints
 * the tables. RESULTS.md has those of a run on a quiet machine.
 */
import '../../lib/program/environment/node-version.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Options } from './figures.ts';
import { measureGenerator } from './generator.ts';
import { type Prepared, prepare } from './prepare.ts';
import { measureSearch } from './search.ts';
import { measureServing } from './serving.ts';

type Measure = (prepared: Prepared, options: Options) => Promise<string>;
// The last one changes the catalogue.
const PARTS: Readonly<Record<string, Measure>> = {
  serving: measureServing,
  search: measureSearch,
  generator: measureGenerator,
};

const USAGE = `npm run bench -- [PART …] [--quick] [--rounds N] [--seconds N] [--games N]

  PART       ${Object.keys(PARTS).join(', ')}; by default all of them
  --quick    a small catalogue and short measurements: five minutes on two cores
  --rounds   how many times each candidate is measured (3)
  --seconds  how long one measurement under load lasts (4)
  --games    the size of a seeded catalogue (150000, or a real one if this machine has it)

With BENCH_BASELINE, the path of another checkout with its npm packages, its product is measured too.
`;

async function main(): Promise<void> {
  const { parts, games, ...settings } = readArguments();
  const options = { ...settings, report: (text: string) => process.stderr.write(`${text}\n`) };
  const folder = mkdtempSync(path.join(os.tmpdir(), 'cover-catalogue-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
  // All that is started here has its files in this folder.
  process.env.TMPDIR = folder;
  const ends: (() => unknown)[] = [];
  try {
    const prepared = await prepare(folder, (end) => ends.push(end), games, options.report);
    const when = new Date().toISOString().slice(0, 16).replace('T', ' ');
    const machine = `${os.cpus()[0]?.model.trim()}, ${os.availableParallelism()} cores`;
    const load = os.loadavg()[0].toFixed(1);
    process.stdout.write(
      `${when} UTC, ${machine}, load ${load}, Node ${process.versions.node}. ${prepared.description}, ${settings.rounds} rounds in turn. Figures are medians.\n`,
    );
    for (const part of parts) {
      options.report(`${part} …`);
      process.stdout.write(`\n## ${part}\n\n${(await measure(part, prepared, options)).trim()}\n`);
    }
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** A part that cannot be measured does not keep the others from it. */
async function measure(part: string, prepared: Prepared, options: Options): Promise<string> {
  try {
    return await PARTS[part](prepared, options);
  } catch (error) {
    process.exitCode = 1;
    return `Failed: ${(error as Error).stack}`;
  }
}

function readArguments() {
  const { values, positionals } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      rounds: { type: 'string' },
      seconds: { type: 'string' },
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
  const count = (name: 'rounds' | 'seconds' | 'games', byDefault: number) => {
    const value = Number(values[name] ?? byDefault);
    if (Number.isInteger(value) && value > 0) return value;
    throw new Error(`--${name} must be a whole number of at least 1, not ${values[name]}.`);
  };
  const isReal = values.games === undefined && !values.quick;
  return {
    parts: Object.keys(PARTS).filter(
      (part) => positionals.length === 0 || positionals.includes(part),
    ),
    games: isReal ? undefined : count('games', 20_000),
    rounds: count('rounds', values.quick ? 2 : 3),
    seconds: count('seconds', values.quick ? 2 : 4),
  };
}

// What was started ends with this process, and its files are removed on `exit`.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(130));
main().catch((error: Error) => {
  process.stderr.write(`${error.stack}\n`);
  process.exit(1);
});
