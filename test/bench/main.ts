/**
 * `npm run bench`: compares the product with what could replace its parts, in one run on this machine, and prints
 * the tables. RESULTS.md has those of a run on a quiet machine.
 */
import '../../lib/program/environment/node-version.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { lazily, type Options } from './figures.ts';
import { measureGenerator } from './generator.ts';
import { type Prepared, prepare } from './prepare.ts';
import { measureSearch } from './search.ts';
import { measureServing } from './serving.ts';
import { measureSizes } from './sizes.ts';

interface Bench {
  readonly folder: string;
  readonly prepared: () => Promise<Prepared>;
  readonly sizes: readonly number[];
  readonly options: Options;
}

/** Takes hours, so it is measured only if it is named. */
const SIZES = 'sizes';
// The last one changes the prepared catalogue.
const PARTS: Readonly<Record<string, (bench: Bench) => Promise<string>>> = {
  [SIZES]: ({ folder, sizes, options }) => measureSizes(folder, sizes, options),
  serving: async ({ prepared, options }) => measureServing(await prepared(), options),
  search: async ({ prepared, options }) => measureSearch(await prepared(), options),
  generator: async ({ prepared, options }) => measureGenerator(await prepared(), options),
};

const USAGE = `npm run bench -- [PART …] [--quick] [--rounds N] [--seconds N] [--games N]

  PART       ${Object.keys(PARTS).join(', ')}; by default all but ${SIZES}, which makes
             the chart test/bench/sizes.svg
  --quick    a small catalogue and short measurements: five minutes on two cores
  --rounds   how many times each candidate is measured (3)
  --seconds  how long one measurement under load lasts (4)
  --games    the size of a seeded catalogue (150000, or a real one if this machine has it)
  --sizes    the sizes of the catalogues of ${SIZES} (20000,150000,1000000,3000000,10000000; if
             quick, the first two)

With BENCH_BASELINE, the path of another checkout with its npm packages, its product is measured too.
`;

async function main(): Promise<void> {
  const { parts, games, sizes, ...settings } = readArguments();
  const options = { ...settings, report: (text: string) => process.stderr.write(`${text}\n`) };
  const folder = mkdtempSync(path.join(os.tmpdir(), 'cover-catalogue-bench-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 }));
  // All that is started here has its files in this folder.
  process.env.TMPDIR = folder;
  const ends: (() => unknown)[] = [];
  try {
    const when = new Date().toISOString().slice(0, 16).replace('T', ' ');
    const machine = `${os.cpus()[0]?.model.trim()}, ${os.availableParallelism()} cores`;
    const load = os.loadavg()[0].toFixed(1);
    process.stdout.write(`${when} UTC, ${machine}, load ${load}, Node ${process.versions.node}.\n`);
    const place = { folder, atEnd: (end: () => unknown) => ends.push(end) };
    const prepared = lazily(async () => {
      const found = await prepare(place, games, options.report);
      process.stdout.write(
        `${found.description}, ${settings.rounds} rounds in turn. Figures are medians.\n`,
      );
      return found;
    });
    for (const part of parts) {
      options.report(`${part} …`);
      const text = await measure(part, { folder, prepared, sizes, options });
      process.stdout.write(`\n## ${part}\n\n${text.trim()}\n`);
    }
  } finally {
    for (const end of ends.reverse()) await end();
  }
}

/** A part that cannot be measured does not keep the others from it. */
async function measure(part: string, bench: Bench): Promise<string> {
  try {
    return await PARTS[part](bench);
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
      sizes: { type: 'string' },
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
  const toCount = (name: string, text: string | number) => {
    const value = Number(text);
    if (Number.isInteger(value) && value > 0) return value;
    throw new Error(`--${name} must be a whole number of at least 1, not ${text}.`);
  };
  const count = (name: 'rounds' | 'seconds' | 'games', byDefault: number) =>
    toCount(name, values[name] ?? byDefault);
  const sizes = values.quick ? '20000,150000' : '20000,150000,1000000,3000000,10000000';
  const isReal = values.games === undefined && !values.quick;
  return {
    parts: Object.keys(PARTS).filter(
      (part) => positionals.includes(part) || (positionals.length === 0 && part !== SIZES),
    ),
    sizes: (values.sizes ?? sizes).split(',').map((size) => toCount('sizes', size)),
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
