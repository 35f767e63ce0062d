/**
 * `cover-catalogue snapshot VERB …`: operators list, show, verify and compare generations, roll back to
 * one, hold and resume publishing, push to a store, and prune. Data goes to stdout, everything else to
 * stderr.
 */
import { isReason, LONGEST_REASON } from '../format/hold-file.ts';
import { findOtherCollation, type Manifest } from '../format/manifest.ts';
import { groupChanges } from '../generations/changes/group-changes.ts';
import { verifyDifferences } from '../generations/changes/verify-differences.ts';
import { currentId, generationDir, requireGeneration } from '../generations/generations.ts';
import { readHold, removeHold, whyHeld } from '../generations/hold.ts';
import { asLines, readList } from '../generations/list-generations.ts';
import { addStateToErrors, holdCurrent, rollbackAndHold } from '../generations/pause-publishing.ts';
import { KEPT_GENERATIONS, prune } from '../generations/prune.ts';
import { rollbackTo } from '../generations/rollback.ts';
import { checkOneByOne, verifyAndOpen } from '../generations/verify.ts';
import { readVerb, type VerbArguments, type VerbSyntax } from '../program/arguments.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { reportFailure } from '../program/failure.ts';
import { checkReadableFolder, checkWritableFolder } from '../program/folders.ts';
import type { Invocation } from '../program/invocation.ts';
import type { Printable } from '../program/progress.ts';
import { KEYGEN_SYNTAX, PUSH_SYNTAX, runKeygen, runPush } from './push.ts';

interface Verb extends VerbSyntax {
  /** Whether the verb changes SNAPSHOTS_DIR. */
  readonly writes?: true;
  readonly run: (call: Call, args: readonly string[], options: Options) => Promise<void>;
}

type Options = VerbArguments['options'];

/** A verb is called with the folder, the variables and the streams to print on. */
interface Call extends Pick<Invocation, 'stdout' | 'stderr'> {
  readonly dir: string;
  readonly variables: NodeJS.ProcessEnv;
}

const JSON_OPTION = { json: { type: 'boolean' } } as const;
const REASON_OPTION = { reason: { type: 'string' } } as const;

const VERBS: Readonly<Record<string, Verb>> = {
  list: {
    usage: 'list [--json]',
    help: 'lists the generations, oldest first; "*" marks the current generation, "held" a held one',
    options: JSON_OPTION,
    positionals: [],
    run: async (call, _args, options) => list(call, options),
  },
  show: {
    usage: 'show PATH [ID]',
    help: 'prints the exact body that the API sends for a path such as /games/snes/chrono-trigger or "/search?q=chrono"',
    options: {},
    positionals: ['PATH'],
    optional: ['ID'],
    run: async ({ dir, stdout }, [target = '', id]) => {
      const picked = pickId(dir, id);
      // Only this verb needs the proxy, and importing it takes longer than a small push.
      const { showBody } = await import('./show.ts');
      stdout.write(await showBody(dir, picked, target));
    },
  },
  verify: {
    usage: 'verify [ID]',
    help: 'reads a generation back, checks it against its manifest and index, and searches it with MiniSearch; also checks all differences',
    options: {},
    positionals: [],
    optional: ['ID'],
    run: async ({ dir, stdout, stderr }, [id]) => {
      const picked = pickId(dir, id);
      const generation = generationDir(dir, picked);
      const { manifest, index } = await verifyAndOpen(generation, checkOneByOne);
      // Only this verb needs MiniSearch.
      const { verifySearch } = await import('./verify-search.ts');
      verifySearch(generation, index);
      const { counts } = manifest;
      const otherCollation = findOtherCollation(manifest);
      if (otherCollation !== undefined) print(stderr, `Warning: ${otherCollation}`);
      print(
        stdout,
        `${picked} is complete and undamaged: ${counts.games} games, ${counts.covers} covers.`,
      );
      const differences = verifyDifferences(dir);
      if (differences > 0)
        print(stdout, `The differences between generations are undamaged: ${differences}.`);
    },
  },
  diff: {
    usage: 'diff ID [ID] [--json]',
    help: 'lists the games and covers that were added, changed or removed between two generations; the second is the current one by default',
    options: JSON_OPTION,
    positionals: ['ID'],
    optional: ['ID'],
    run: async (call, [from, to], options) => diff(call, from, to, options),
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
    run: async (call, [id], options) =>
      addStateToErrors(call.dir, () => rollback(call, id as string, options)),
  },
  hold: {
    usage: 'hold [ID] [--reason TEXT]',
    help: 'pauses publishing, also of takedowns: no run publishes until "resume"; runs still export keys',
    options: REASON_OPTION,
    positionals: [],
    optional: ['ID'],
    writes: true,
    run: async (call, [id], options) => addStateToErrors(call.dir, () => hold(call, id, options)),
  },
  resume: {
    usage: 'resume',
    help: 'ends a hold: the next run publishes the database again',
    options: {},
    positionals: [],
    writes: true,
    run: async ({ dir, stderr }) => {
      const wasHeld = removeHold(dir);
      print(
        stderr,
        wasHeld
          ? 'Publishing is resumed: the next run publishes the database again.'
          : 'Publishing was not held.',
      );
    },
  },
  push: {
    ...PUSH_SYNTAX,
    writes: true,
    run: async (call, _args, options) => runPush(call, options),
  },
  keygen: {
    ...KEYGEN_SYNTAX,
    run: async (call, [file = '']) => runKeygen(call, file),
  },
  prune: {
    usage: `prune [--keep N]`,
    help: `removes old generations and unfinished files of killed runs; keeps the last N generations (default ${KEPT_GENERATIONS}), the current one and the held one`,
    options: { keep: { type: 'string' } },
    positionals: [],
    writes: true,
    run: async ({ dir, stdout, stderr }, _args, { keep }) => {
      const number = keep === undefined ? KEPT_GENERATIONS : Number(keep);
      if (!Number.isSafeInteger(number) || number < 1) {
        throw new ConfigurationError(
          `--keep must be a whole number, at least 1, not ${JSON.stringify(keep)}.`,
        );
      }
      const removed = await prune(dir, number, () => readHold(dir)?.id);
      for (const id of removed) print(stdout, id);
      print(stderr, `${removed.length} generations removed.`);
    },
  },
};

/** @returns the exit code */
export async function runSnapshot(invocation: Invocation): Promise<number> {
  try {
    await runVerb(invocation);
    return 0;
  } catch (error) {
    return reportFailure(error as Error, '', invocation.stderr);
  }
}

async function runVerb({ words, stdout, stderr, ...rest }: Invocation): Promise<void> {
  const command = readVerb(
    { name: 'cover-catalogue snapshot', summary: 'generations in SNAPSHOTS_DIR.', verbs: VERBS },
    words,
  );
  if (command.text !== undefined) {
    stdout.write(command.text);
    return;
  }
  const { verb, args } = command;
  const variables = rest.variables();
  const { SNAPSHOTS_DIR: dir } = readEnvironment(['SNAPSHOTS_DIR'], variables, {
    SNAPSHOTS_DIR: verb.writes ? checkWritableFolder : checkReadableFolder,
  });
  await verb.run({ dir, variables, stdout, stderr }, args.positionals, args.options);
}

function reasonOf({ reason }: Options): string | undefined {
  if (reason === undefined) return undefined;
  const text = String(reason);
  if (isReason(text)) return text.trim();
  throw new ConfigurationError(
    `--reason must be one line of 1 to ${LONGEST_REASON} characters, not ${JSON.stringify(text)}.`,
  );
}

async function rollback(
  { dir, stdout, stderr }: Call,
  id: string,
  options: Options,
): Promise<void> {
  const reason = reasonOf(options);
  const warn = (text: string) => print(stderr, `Warning: ${text}`);
  const how = { withTakenDown: Boolean(options['with-taken-down']), warn };
  const report = ({ id: published }: Manifest) =>
    print(stdout, `${published} is current, with the content of ${id}.`);
  if (!options['no-hold']) {
    report(await rollbackAndHold(dir, id, reason, how));
    print(stderr, `${whyHeld(dir)}`);
    return;
  }
  const held = whyHeld(dir);
  if (held !== undefined)
    throw new Error(`--no-hold cannot be used while publishing is held. ${held}`);
  report(await rollbackTo(dir, id, how));
}

async function hold(
  { dir, stdout, stderr }: Call,
  id: string | undefined,
  options: Options,
): Promise<void> {
  const held = await holdCurrent(dir, id, reasonOf(options), () => {
    print(stderr, 'Publishing is paused. Waiting for the run that is under way to end …');
  });
  if (id !== undefined && held.id !== id) {
    throw new Error(
      `A run replaced ${id} before it ended. Publishing is held at ${held.id}. To serve and hold ${id}, run "cover-catalogue snapshot rollback ${id}".`,
    );
  }
  print(stdout, `${held.id} is held.`);
  print(stderr, `${whyHeld(dir)}`);
}

/** The id that the operator gave, or else the id of the current generation. */
function pickId(snapshotsDir: string, id: string | undefined): string {
  const picked = id ?? currentId(snapshotsDir);
  if (picked === undefined) throw new Error(`There is no generation in ${snapshotsDir} yet.`);
  requireGeneration(snapshotsDir, picked);
  return picked;
}

function list({ dir, stdout, stderr }: Call, { json }: Options): void {
  const generations = readList(dir);
  if (json) {
    print(stdout, JSON.stringify(generations));
    return;
  }
  if (generations.length === 0) print(stderr, `There is no generation in ${dir} yet.`);
  for (const line of asLines(generations)) print(stdout, line);
  const held = whyHeld(dir);
  if (held !== undefined) print(stderr, held);
}

function diff(
  { dir, stdout }: Call,
  from: string | undefined,
  to: string | undefined,
  { json }: Options,
): void {
  const differences = groupChanges(
    generationDir(dir, pickId(dir, from)),
    generationDir(dir, pickId(dir, to)),
  );
  if (json) {
    print(stdout, JSON.stringify(differences));
    return;
  }
  for (const kind of ['games', 'covers'] as const) {
    for (const [sign, change] of [
      ['+', 'added'],
      ['~', 'changed'],
      ['-', 'removed'],
    ] as const) {
      for (const path of differences[kind][change]) print(stdout, `${sign} ${path}`);
    }
  }
}

function print(stream: Printable, text: string): void {
  stream.write(`${text}\n`);
}
