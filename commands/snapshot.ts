/**
 * `cover-catalogue snapshot VERB …`: operators list, show, verify and compare generations, roll back to
 * one, hold and resume publishing, push to a store, and prune. Data goes to stdout, everything else to
 * stderr.
 */
import '../program/environment/node-version.ts';
import '../program/standard-output.ts';
import { isReason, LONGEST_REASON } from '../format/hold-file.ts';
import { findOtherCollation, type Manifest } from '../format/manifest.ts';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '../program/environment/environment.ts';
import { reportFailure } from '../program/failure.ts';
import { checkReadableFolder, checkWritableFolder } from '../program/folders.ts';
import { readVerb, type VerbArguments, type VerbSyntax } from '../program/verbs.ts';
import { groupChanges } from '../store/changes/group-changes.ts';
import { verifyDifferences } from '../store/changes/verify-differences.ts';
import { currentId, generationDir, requireGeneration } from '../store/generations/generations.ts';
import { checkOneByOne, verifyAndOpen } from '../store/generations/verify.ts';
import { readHold, removeHold, whyHeld } from '../store/hold.ts';
import { asLines, readList } from '../store/list-generations.ts';
import { addStateToErrors, holdCurrent, rollbackAndHold } from '../store/pause-publishing.ts';
import { KEPT_GENERATIONS, prune } from '../store/prune.ts';
import { rollbackTo } from '../store/rollback.ts';
import { KEYGEN_SYNTAX, PUSH_SYNTAX, runKeygen, runPush } from './push.ts';

interface Verb extends VerbSyntax {
  /** Whether the verb changes SNAPSHOTS_DIR. */
  readonly writes?: true;
  readonly run: (snapshotsDir: string, args: readonly string[], options: Options) => Promise<void>;
}

type Options = VerbArguments['options'];

const JSON_OPTION = { json: { type: 'boolean' } } as const;
const REASON_OPTION = { reason: { type: 'string' } } as const;

const VERBS: Readonly<Record<string, Verb>> = {
  list: {
    usage: 'list [--json]',
    help: 'lists the generations, oldest first; "*" marks the current generation, "held" a held one',
    options: JSON_OPTION,
    positionals: [],
    run: async (dir, _args, options) => list(dir, options),
  },
  show: {
    usage: 'show PATH [ID]',
    help: 'prints the exact body that the API sends for a path such as /games/snes/chrono-trigger or "/search?q=chrono"',
    options: {},
    positionals: ['PATH'],
    optional: ['ID'],
    run: async (dir, [target = '', id]) => {
      const picked = pickId(dir, id);
      // Only this verb needs the proxy, and importing it takes longer than a small push.
      const { showBody } = await import('./show.ts');
      process.stdout.write(await showBody(dir, picked, target));
    },
  },
  verify: {
    usage: 'verify [ID]',
    help: 'reads a generation back, checks it against its manifest and index, and searches it with MiniSearch; also checks all differences',
    options: {},
    positionals: [],
    optional: ['ID'],
    run: async (dir, [id]) => {
      const picked = pickId(dir, id);
      const generation = generationDir(dir, picked);
      const { manifest, index } = await verifyAndOpen(generation, checkOneByOne);
      // Only this verb needs MiniSearch.
      const { verifySearch } = await import('./verify-search.ts');
      verifySearch(generation, index);
      const { counts } = manifest;
      const otherCollation = findOtherCollation(manifest);
      if (otherCollation !== undefined) process.stderr.write(`Warning: ${otherCollation}\n`);
      print(`${picked} is complete and undamaged: ${counts.games} games, ${counts.covers} covers.`);
      const differences = verifyDifferences(dir);
      if (differences > 0)
        print(`The differences between generations are undamaged: ${differences}.`);
    },
  },
  diff: {
    usage: 'diff ID [ID] [--json]',
    help: 'lists the games and covers that were added, changed or removed between two generations; the second is the current one by default',
    options: JSON_OPTION,
    positionals: ['ID'],
    optional: ['ID'],
    run: async (dir, [from, to], options) => diff(dir, pickId(dir, from), pickId(dir, to), options),
  },
  rollback: {
    usage: 'rollback ID [--with-taken-down] [--reason TEXT] [--no-hold]',
    help: 'verifies a generation, publishes its content as a new one and holds that; refuses if it has covers that are not public now, except with --with-taken-down; with --no-hold, the next run publishes the database again',
    options: {
      ...REASON_OPTION,
      'no-hold': { type: 'boolean' },
      'with-taken-down': { type: 'boolean' },
    },
    positionals: ['ID'],
    writes: true,
    run: async (dir, [id], options) =>
      addStateToErrors(dir, () => rollback(dir, id as string, options)),
  },
  hold: {
    usage: 'hold [ID] [--reason TEXT]',
    help: 'pauses publishing, also of takedowns: no run publishes until "resume"; runs still export keys',
    options: REASON_OPTION,
    positionals: [],
    optional: ['ID'],
    writes: true,
    run: async (dir, [id], options) => addStateToErrors(dir, () => hold(dir, id, options)),
  },
  resume: {
    usage: 'resume',
    help: 'ends a hold: the next run publishes the database again',
    options: {},
    positionals: [],
    writes: true,
    run: async (dir) => {
      const wasHeld = removeHold(dir);
      process.stderr.write(
        wasHeld
          ? 'Publishing is resumed: the next run publishes the database again.\n'
          : 'Publishing was not held.\n',
      );
    },
  },
  push: {
    ...PUSH_SYNTAX,
    writes: true,
    run: async (dir, _args, options) => runPush(dir, options),
  },
  keygen: {
    ...KEYGEN_SYNTAX,
    run: async (_dir, [file = '']) => runKeygen(file),
  },
  prune: {
    usage: `prune [--keep N]`,
    help: `removes old generations and unfinished files of killed runs; keeps the last N generations (default ${KEPT_GENERATIONS}), the current one and the held one`,
    options: { keep: { type: 'string' } },
    positionals: [],
    writes: true,
    run: async (dir, _args, { keep }) => {
      const number = keep === undefined ? KEPT_GENERATIONS : Number(keep);
      if (!Number.isSafeInteger(number) || number < 1) {
        throw new ConfigurationError(
          `--keep must be a whole number, at least 1, not ${JSON.stringify(keep)}.`,
        );
      }
      const removed = await prune(dir, number, () => readHold(dir)?.id);
      for (const id of removed) print(id);
      process.stderr.write(`${removed.length} generations removed.\n`);
    },
  },
};

async function main(words: readonly string[]): Promise<void> {
  const command = readVerb(
    { name: 'cover-catalogue snapshot', summary: 'generations in SNAPSHOTS_DIR.', verbs: VERBS },
    words,
  );
  if (command.text !== undefined) {
    process.stdout.write(command.text);
    return;
  }
  const { verb, args } = command;
  loadEnvironmentFile();
  const { SNAPSHOTS_DIR: snapshotsDir } = readEnvironment(['SNAPSHOTS_DIR'], process.env, {
    SNAPSHOTS_DIR: verb.writes ? checkWritableFolder : checkReadableFolder,
  });
  await verb.run(snapshotsDir, args.positionals, args.options);
}

function reasonOf({ reason }: Options): string | undefined {
  if (reason === undefined) return undefined;
  const text = String(reason);
  if (isReason(text)) return text.trim();
  throw new ConfigurationError(
    `--reason must be one line of 1 to ${LONGEST_REASON} characters, not ${JSON.stringify(text)}.`,
  );
}

async function rollback(dir: string, id: string, options: Options): Promise<void> {
  const reason = reasonOf(options);
  const warn = (text: string) => process.stderr.write(`Warning: ${text}\n`);
  const how = { withTakenDown: Boolean(options['with-taken-down']), warn };
  const report = ({ id: published }: Manifest) =>
    print(`${published} is current, with the content of ${id}.`);
  if (!options['no-hold']) {
    report(await rollbackAndHold(dir, id, reason, how));
    process.stderr.write(`${whyHeld(dir)}\n`);
    return;
  }
  const held = whyHeld(dir);
  if (held !== undefined)
    throw new Error(`--no-hold cannot be used while publishing is held. ${held}`);
  report(await rollbackTo(dir, id, how));
}

async function hold(dir: string, id: string | undefined, options: Options): Promise<void> {
  const held = await holdCurrent(dir, id, reasonOf(options), () => {
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

/** The id that the operator gave, or else the id of the current generation. */
function pickId(snapshotsDir: string, id: string | undefined): string {
  const picked = id ?? currentId(snapshotsDir);
  if (picked === undefined) throw new Error(`There is no generation in ${snapshotsDir} yet.`);
  requireGeneration(snapshotsDir, picked);
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
  const differences = groupChanges(
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

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

main(process.argv.slice(2)).catch((error: Error) => {
  process.exitCode = reportFailure(error);
});
