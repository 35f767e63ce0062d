/**
 * `cover-catalogue snapshot VERB …`: what operators do with generations: list, look into, verify,
 * compare, roll back, prune. Data goes to stdout, everything else to stderr.
 */
import '../environment/node-version.ts';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '../environment/environment.ts';
import { isGenerationId } from '../format/layout.ts';
import { findOtherCollation } from '../format/manifest.ts';
import { versionText } from '../program/arguments.ts';
import { checkReadableFolder, checkWritableFolder } from '../program/folders.ts';
import { findDifferences } from './differences.ts';
import {
  currentId,
  generationDir,
  idsOnDisk,
  KEPT_GENERATIONS,
  listGenerations,
  prune,
  rollbackTo,
} from './generations.ts';
import { LockedError } from './lock.ts';
import { showBody } from './show.ts';
import { verifyGeneration } from './verify.ts';

interface Verb {
  readonly usage: string;
  readonly help: string;
  /** How many arguments it takes. */
  readonly takes: readonly [fewest: number, most: number];
  /** Whether it changes SNAPSHOTS_DIR. */
  readonly writes?: true;
  readonly run: (snapshotsDir: string, args: readonly string[], options: Options) => Promise<void>;
}

interface Options {
  readonly json: boolean;
  readonly keep: string | undefined;
}

const VERBS: Readonly<Record<string, Verb>> = {
  list: {
    usage: 'list [--json]',
    help: 'the generations, the oldest first; * marks the current one',
    takes: [0, 0],
    run: async (dir, _args, options) => list(dir, options),
  },
  show: {
    usage: 'show PATH [ID]',
    help: 'the exact body of an API path such as /games/snes/chrono-trigger',
    takes: [1, 2],
    run: async (dir, [path, id]) => {
      process.stdout.write(showBody(generationDir(dir, pickId(dir, id)), path as string));
    },
  },
  verify: {
    usage: 'verify [ID]',
    help: 'reads a generation back and holds it to its manifest and index',
    takes: [0, 1],
    run: async (dir, [id]) => {
      const picked = pickId(dir, id);
      const manifest = await verifyGeneration(generationDir(dir, picked));
      const { counts } = manifest;
      const otherCollation = findOtherCollation(manifest);
      if (otherCollation !== undefined) process.stderr.write(`Warning: ${otherCollation}\n`);
      print(`${picked} is whole: ${counts.games} games, ${counts.covers} covers.`);
    },
  },
  diff: {
    usage: 'diff ID [ID] [--json]',
    help: 'the games and covers added, changed and removed from the first to the second',
    takes: [1, 2],
    run: async (dir, [from, to], options) => diff(dir, pickId(dir, from), pickId(dir, to), options),
  },
  rollback: {
    usage: 'rollback ID',
    help: 'verifies a generation and makes it current; the next run publishes the database again',
    takes: [1, 1],
    writes: true,
    run: async (dir, [id]) => {
      const manifest = await rollbackTo(dir, id as string);
      print(`${manifest.id} is current.`);
    },
  },
  prune: {
    usage: `prune [--keep N]`,
    help: `removes all but the last N generations (${KEPT_GENERATIONS}) and what dead runs left`,
    takes: [0, 0],
    writes: true,
    run: async (dir, _args, { keep }) => {
      const number = keep === undefined ? KEPT_GENERATIONS : Number(keep);
      if (!Number.isSafeInteger(number) || number < 1) {
        throw new ConfigurationError(
          `--keep must be a whole number from 1 on, not ${JSON.stringify(keep)}.`,
        );
      }
      const removed = await prune(dir, number);
      for (const id of removed) print(id);
      process.stderr.write(`${removed.length} generations removed.\n`);
    },
  },
};

async function main([name, ...rest]: readonly string[]): Promise<void> {
  if (name === undefined) throw new ConfigurationError(overview());
  if (name === '--help' || name === '-h' || name === 'help') {
    print(overview());
    return;
  }
  if (name === '--version') {
    process.stdout.write(versionText());
    return;
  }
  const verb = Object.hasOwn(VERBS, name) ? VERBS[name] : undefined;
  if (verb === undefined) {
    throw new ConfigurationError(`There is no verb ${JSON.stringify(name)}.\n${overview()}`);
  }
  const { values, positionals } = parse(verb, rest);
  if (values.help) {
    print(`cover-catalogue snapshot ${verb.usage}\n\n${verb.help}`);
    return;
  }
  const [fewest, most] = verb.takes;
  if (positionals.length < fewest || positionals.length > most) {
    throw new ConfigurationError(`Usage: cover-catalogue snapshot ${verb.usage}`);
  }
  loadEnvironmentFile();
  const { SNAPSHOTS_DIR: snapshotsDir } = readEnvironment(['SNAPSHOTS_DIR'], process.env, {
    SNAPSHOTS_DIR: verb.writes ? checkWritableFolder : checkReadableFolder,
  });
  await verb.run(snapshotsDir, positionals, { json: values.json ?? false, keep: values.keep });
}

function parse(verb: Verb, args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        json: { type: 'boolean' },
        keep: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
      allowPositionals: true,
    });
  } catch (cause) {
    throw new ConfigurationError(
      `${(cause as Error).message}\nUsage: cover-catalogue snapshot ${verb.usage}`,
      { cause },
    );
  }
}

/** The generation that is meant: by its id, or the current one. */
function pickId(snapshotsDir: string, id: string | undefined): string {
  const picked = id ?? currentId(snapshotsDir);
  if (picked === undefined) throw new Error(`There is no generation in ${snapshotsDir} yet.`);
  if (!isGenerationId(picked) || !existsSync(generationDir(snapshotsDir, picked))) {
    const known = idsOnDisk(snapshotsDir).join(', ') || 'none';
    throw new Error(`There is no generation ${JSON.stringify(picked)}. There are: ${known}.`);
  }
  return picked;
}

function list(snapshotsDir: string, { json }: Options): void {
  const generations = listGenerations(snapshotsDir).map(
    ({ id, isCurrent, publishedAt, manifest, fault }) => ({
      id,
      current: isCurrent,
      published_at: publishedAt.toISOString(),
      counts: manifest?.counts ?? null,
      fault: fault ?? null,
    }),
  );
  if (json) {
    print(JSON.stringify(generations));
    return;
  }
  if (generations.length === 0)
    process.stderr.write(`There is no generation in ${snapshotsDir} yet.\n`);
  for (const { id, current, published_at, counts, fault } of generations) {
    const what = counts === null ? fault : `${counts.games} games, ${counts.covers} covers`;
    print(`${current ? '*' : ' '} ${id}  ${published_at.slice(0, 19)}Z  ${what}`);
  }
}

function diff(snapshotsDir: string, from: string, to: string, { json }: Options): void {
  const differences = findDifferences(
    generationDir(snapshotsDir, from),
    generationDir(snapshotsDir, to),
  );
  if (json) {
    print(JSON.stringify(differences));
    return;
  }
  for (const kind of ['games', 'covers'] as const) {
    for (const [sign, change] of [
      ['+', 'added'],
      ['~', 'changed'],
      ['-', 'removed'],
    ] as const) {
      for (const path of differences[kind][change]) print(`${sign} ${path}`);
    }
  }
}

function overview(): string {
  const verbs = Object.values(VERBS).map(({ usage, help }) => `  ${usage}\n      ${help}`);
  return `cover-catalogue snapshot VERB …: generations in SNAPSHOTS_DIR.\n\n${verbs.join('\n')}`;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.stderr.write(`${error.message.trimEnd()}\n`);
  if (error instanceof ConfigurationError) process.exitCode = 2;
  else if (error instanceof LockedError) process.exitCode = 4;
  else process.exitCode = 1;
});
