/**
 * `cover-catalogue snapshot VERB …`: what operators do with generations: list, look into, verify,
 * compare, roll back, hold, release, prune. Data goes to stdout, everything else to stderr.
 */
import '../program/environment/node-version.ts';
import '../program/standard-output.ts';
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { isReason, LONGEST_REASON } from '../format/hold-file.ts';
import { isGenerationId } from '../format/layout.ts';
import { findOtherCollation } from '../format/manifest.ts';
import { refuseMore, versionText } from '../program/arguments.ts';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '../program/environment/environment.ts';
import { checkReadableFolder, checkWritableFolder } from '../program/folders.ts';
import { findDifferences } from '../store/generations/differences.ts';
import { currentId, generationDir, idsOnDisk } from '../store/generations/generations.ts';
import { verifyGeneration } from '../store/generations/verify.ts';
import { readHold, removeHold, whyHeld } from '../store/hold.ts';
import { asLines, readList } from '../store/list-generations.ts';
import { LockedError } from '../store/lock.ts';
import { holdCurrent, rollbackAndHold, sayingState } from '../store/pause-publishing.ts';
import { KEPT_GENERATIONS, prune } from '../store/prune.ts';
import { rollbackTo } from '../store/rollback.ts';
import { showBody } from './show.ts';

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
  readonly reason: string | undefined;
  readonly isHeld: boolean;
}

const VERBS: Readonly<Record<string, Verb>> = {
  list: {
    usage: 'list [--json]',
    help: 'the generations, the oldest first; * marks the current one, "held" the one that is held',
    takes: [0, 0],
    run: async (dir, _args, options) => list(dir, options),
  },
  show: {
    usage: 'show PATH [ID]',
    help: 'the exact body that the API answers for a path such as /games/snes/chrono-trigger or "/search?q=chrono"',
    takes: [1, 2],
    run: async (dir, [target = '', id]) => {
      const picked = pickId(dir, id);
      process.stdout.write(showBody(generationDir(dir, picked), picked, target));
    },
  },
  verify: {
    usage: 'verify [ID]',
    help: 'reads a generation back and checks it against its manifest and index',
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
    usage: 'rollback ID [--reason TEXT] [--no-hold]',
    help: 'verifies a generation, makes it current and holds it; with --no-hold the next run publishes the database again',
    takes: [1, 1],
    writes: true,
    run: async (dir, [id], options) => sayingState(dir, () => rollback(dir, id as string, options)),
  },
  hold: {
    usage: 'hold [ID] [--reason TEXT]',
    help: 'keeps the current generation: no run publishes until "release", while keys are still exported',
    takes: [0, 1],
    writes: true,
    run: async (dir, [id], options) => sayingState(dir, () => hold(dir, id, options)),
  },
  release: {
    usage: 'release',
    help: 'ends a hold: the next run publishes the database again',
    takes: [0, 0],
    writes: true,
    run: async (dir) => {
      const wasHeld = removeHold(dir);
      process.stderr.write(
        wasHeld
          ? 'Publishing is released: the next run publishes the database again.\n'
          : 'Publishing was not held.\n',
      );
    },
  },
  prune: {
    usage: `prune [--keep N]`,
    help: `removes all but the last N generations (${KEPT_GENERATIONS}), the current and the held one, and what dead runs left`,
    takes: [0, 0],
    writes: true,
    run: async (dir, _args, { keep }) => {
      const number = keep === undefined ? KEPT_GENERATIONS : Number(keep);
      if (!Number.isSafeInteger(number) || number < 1) {
        throw new ConfigurationError(
          `--keep must be a whole number from 1 on, not ${JSON.stringify(keep)}.`,
        );
      }
      const removed = await prune(dir, number, () => readHold(dir)?.id);
      for (const id of removed) print(id);
      process.stderr.write(`${removed.length} generations removed.\n`);
    },
  },
};

async function main([name, ...rest]: readonly string[]): Promise<void> {
  if (name === undefined) throw new ConfigurationError(overview());
  if (name === '--help' || name === '-h' || name === 'help') {
    refuseMore(rest, overview());
    print(overview());
    return;
  }
  if (name === '--version') {
    refuseMore(rest, overview());
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
  await verb.run(snapshotsDir, positionals, {
    json: values.json ?? false,
    keep: values.keep,
    reason: readReason(values.reason),
    isHeld: !(values['no-hold'] ?? false),
  });
}

function parse(verb: Verb, args: string[]) {
  try {
    return parseArgs({
      args,
      options: {
        json: { type: 'boolean' },
        keep: { type: 'string' },
        reason: { type: 'string' },
        'no-hold': { type: 'boolean' },
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

function readReason(text: string | undefined): string | undefined {
  if (text === undefined || isReason(text)) return text?.trim();
  throw new ConfigurationError(
    `--reason must be one line of 1 to ${LONGEST_REASON} characters, not ${JSON.stringify(text)}.`,
  );
}

async function rollback(dir: string, id: string, { reason, isHeld }: Options): Promise<void> {
  if (isHeld) {
    print(`${(await rollbackAndHold(dir, id, reason)).id} is current.`);
    process.stderr.write(`${whyHeld(dir)}\n`);
    return;
  }
  const held = whyHeld(dir);
  if (held !== undefined) throw new Error(`--no-hold contradicts the hold. ${held}`);
  print(`${(await rollbackTo(dir, id)).id} is current.`);
}

async function hold(dir: string, id: string | undefined, { reason }: Options): Promise<void> {
  const held = await holdCurrent(dir, id, reason, () => {
    process.stderr.write('Publishing is paused. Waiting for the run that is under way to end …\n');
  });
  if (id !== undefined && held.id !== id) {
    throw new Error(
      `A run replaced ${id} before it ended. Publishing is held at ${held.id}. To serve and hold ${id}, run "cover-catalogue snapshot rollback ${id}".`,
    );
  }
  print(`${held.id} is held.`);
  process.stderr.write(`${whyHeld(dir)}\n`);
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
  const generations = readList(snapshotsDir);
  if (json) {
    print(JSON.stringify(generations));
    return;
  }
  if (generations.length === 0)
    process.stderr.write(`There is no generation in ${snapshotsDir} yet.\n`);
  for (const line of asLines(generations)) print(line);
  const held = whyHeld(snapshotsDir);
  if (held !== undefined) process.stderr.write(`${held}\n`);
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
