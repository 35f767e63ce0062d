/**
 * `cover-catalogue snapshot VERB …`: operators list, show, verify and compare generations, roll back to
 * one, hold and resume publishing, and prune. Data goes to stdout, everything else to stderr.
 */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Change } from '../format/difference-file.ts';
import { isReason, LONGEST_REASON } from '../format/hold-file.ts';
import { MINISEARCH_OPTIONS } from '../format/index/minisearch-options.ts';
import { MINISEARCH } from '../format/layout.ts';
import { findOtherCollation } from '../format/manifest.ts';
import { compareGenerations } from '../generations/compare.ts';
import { verifyDifferences } from '../generations/differences.ts';
import {
  currentId,
  generationDir,
  listGenerations,
  openIndexOf,
  requireGeneration,
} from '../generations/generations.ts';
import { addStateToErrors, holdCurrent, removeHold, whyHeld } from '../generations/hold.ts';
import { KEPT_GENERATIONS, prune } from '../generations/prune.ts';
import { rollbackTo } from '../generations/rollback.ts';
import { verifyAndOpen } from '../generations/verify.ts';
import { readVerb, type VerbArguments, type VerbSyntax } from '../program/arguments.ts';
import { ConfigurationError, readEnvironment } from '../program/environment/environment.ts';
import { reportFailure } from '../program/failure.ts';
import { checkReadableFolder, checkWritableFolder } from '../program/folders.ts';
import type { Invocation } from '../program/invocation.ts';
import type { Printable } from '../program/progress.ts';

interface Verb extends VerbSyntax {
  /** Whether the verb changes SNAPSHOTS_DIR. */
  readonly writes?: true;
  readonly run: (
    call: Call,
    args: readonly string[],
    options: VerbArguments['options'],
  ) => Promise<void>;
}

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
    help: 'lists the generations, oldest first; "*" marks the current generation, "held" that publishing is held at it',
    options: JSON_OPTION,
    positionals: [],
    run: async (call, _args, { json }) => list(call, json === true),
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
    help: 'reads a generation back, checks it against its manifest and index, and loads search.json with MiniSearch; also checks all differences',
    options: {},
    positionals: [],
    optional: ['ID'],
    run: async (call, [id]) => verify(call, pickId(call.dir, id)),
  },
  diff: {
    usage: 'diff ID [ID] [--json]',
    help: 'lists the games and covers that were added, changed or removed between two generations; the second is the current one by default',
    options: JSON_OPTION,
    positionals: ['ID'],
    optional: ['ID'],
    run: async (call, [from, to], { json }) => diff(call, [from, to], json === true),
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
    run: async ({ dir, stdout, stderr }, [id = ''], options) => {
      const reason = reasonOf(options);
      const held = whyHeld(dir);
      if (options['no-hold'] && held !== undefined)
        throw new Error(`--no-hold cannot be used while publishing is held. ${held}`);
      const published = await addStateToErrors(dir, () =>
        rollbackTo(dir, id, {
          withTakenDown: options['with-taken-down'] === true,
          warn: (text) => print(stderr, `Warning: ${text}`),
          hold: options['no-hold'] ? undefined : { reason },
        }),
      );
      print(stdout, `${published.id} is current, with the content of ${id}.`);
      if (!options['no-hold']) print(stderr, `${whyHeld(dir)}`);
    },
  },
  hold: {
    usage: 'hold [--reason TEXT]',
    help: 'pauses publishing, also of takedowns: no run publishes until "resume"; runs still export keys',
    options: REASON_OPTION,
    positionals: [],
    writes: true,
    run: async ({ dir, stdout, stderr }, _args, options) => {
      const reason = reasonOf(options);
      const onWait = () =>
        print(stderr, 'Publishing is paused. Waiting for the run that is under way to end …');
      const { id } = await addStateToErrors(dir, () => holdCurrent(dir, reason, onWait));
      print(stdout, `${id} is held.`);
      print(stderr, `${whyHeld(dir)}`);
    },
  },
  resume: {
    usage: 'resume',
    help: 'ends a hold: the next run publishes the database again',
    options: {},
    positionals: [],
    writes: true,
    run: async ({ dir, stderr }) => {
      const resumed = 'Publishing is resumed: the next run publishes the database again.';
      print(stderr, removeHold(dir) ? resumed : 'Publishing was not held.');
    },
  },
  prune: {
    usage: `prune [--keep N]`,
    help: `removes old generations and unfinished files of killed runs; keeps the last N generations (default ${KEPT_GENERATIONS}), of which the current one is the last`,
    options: { keep: { type: 'string' } },
    positionals: [],
    writes: true,
    run: async ({ dir, stdout, stderr }, _args, { keep }) => {
      const removed = await prune(dir, readKeep(keep));
      for (const id of removed) print(stdout, id);
      print(stderr, `${removed.length} generations removed.`);
    },
  },
};

/** @throws ConfigurationError */
function readKeep(text: string | boolean | undefined): number {
  const number = Number(text ?? KEPT_GENERATIONS);
  if (Number.isSafeInteger(number) && number >= 1) return number;
  throw new ConfigurationError(
    `--keep must be a whole number, at least 1, not ${JSON.stringify(text)}.`,
  );
}

/** @returns the exit code */
export async function runSnapshot({
  words,
  stdout,
  stderr,
  variables: readVariables,
}: Invocation): Promise<number> {
  try {
    const program = { name: 'cover-catalogue snapshot', summary: 'generations in SNAPSHOTS_DIR.' };
    const command = readVerb({ ...program, verbs: VERBS }, words);
    if (command.text !== undefined) {
      stdout.write(command.text);
      return 0;
    }
    const { verb, args } = command;
    const variables = readVariables();
    const { SNAPSHOTS_DIR: dir } = readEnvironment(['SNAPSHOTS_DIR'], variables, {
      SNAPSHOTS_DIR: verb.writes ? checkWritableFolder : checkReadableFolder,
    });
    await verb.run({ dir, variables, stdout, stderr }, args.positionals, args.options);
    return 0;
  } catch (error) {
    return reportFailure(error as Error, '', stderr);
  }
}

function reasonOf({ reason }: VerbArguments['options']): string | undefined {
  if (reason === undefined) return undefined;
  const text = String(reason);
  if (isReason(text)) return text.trim();
  throw new ConfigurationError(
    `--reason must be one line of 1 to ${LONGEST_REASON} characters, not ${JSON.stringify(text)}.`,
  );
}

/** The id that the operator gave, or else the id of the current generation. */
function pickId(snapshotsDir: string, id: string | undefined): string {
  const picked = id ?? currentId(snapshotsDir);
  if (picked === undefined) throw new Error(`There is no generation in ${snapshotsDir} yet.`);
  requireGeneration(snapshotsDir, picked);
  return picked;
}

function list({ dir, stdout, stderr }: Call, isJson: boolean): void {
  const why = whyHeld(dir);
  const generations = listGenerations(dir).map(
    ({ id, isCurrent, publishedAt, manifest, fault = null }) => ({
      id,
      current: isCurrent,
      published_at: publishedAt.toISOString(),
      counts: manifest?.counts ?? null,
      /** Why the manifest cannot be read. */
      fault,
      held: isCurrent && why !== undefined,
    }),
  );
  if (isJson) {
    print(stdout, JSON.stringify(generations));
    return;
  }
  if (generations.length === 0) print(stderr, `There is no generation in ${dir} yet.`);
  for (const { id, current, published_at, counts, fault, held } of generations) {
    const what = counts === null ? fault : `${counts.games} games, ${counts.covers} covers`;
    const line = `${current ? '*' : ' '} ${id}  ${published_at.slice(0, 19)}Z  ${what}`;
    print(stdout, held ? `${line}  held` : line);
  }
  if (why !== undefined) print(stderr, why);
}

async function verify({ dir, stdout, stderr }: Call, id: string): Promise<void> {
  const generation = generationDir(dir, id);
  const { manifest } = await verifyAndOpen(generation);
  const { counts } = manifest;
  // The other checks compare only its hash. Only this verb needs MiniSearch.
  const { default: MiniSearch } = await import('minisearch');
  try {
    const text = readFileSync(path.join(generation, MINISEARCH), 'utf8');
    const { documentCount } = MiniSearch.loadJSON(text, MINISEARCH_OPTIONS);
    if (documentCount !== counts.games) throw new Error(`it has ${documentCount} games`);
  } catch (cause) {
    throw new Error(`MiniSearch cannot load ${MINISEARCH}: ${(cause as Error).message}.`, {
      cause,
    });
  }
  const otherCollation = findOtherCollation(manifest);
  if (otherCollation !== undefined) print(stderr, `Warning: ${otherCollation}`);
  print(stdout, `${id} is complete and undamaged: ${counts.games} games, ${counts.covers} covers.`);
  const differences = verifyDifferences(dir);
  if (differences > 0)
    print(stdout, `The differences between generations are undamaged: ${differences}.`);
}

function diff(
  { dir, stdout }: Call,
  ids: readonly [string | undefined, string | undefined],
  isJson: boolean,
): void {
  const [from, to] = ids.map((id) => openIndexOf(generationDir(dir, pickId(dir, id))));
  const changes = [...compareGenerations(from, to)];
  const group = (kind: Change['kind']) => {
    const pathsOf = (isOf: (change: Change) => boolean) =>
      changes.filter((change) => change.kind === kind && isOf(change)).map((each) => each.path);
    return {
      added: pathsOf(({ before }) => before === null),
      changed: pathsOf(({ before, after }) => before !== null && after !== null),
      removed: pathsOf(({ after }) => after === null),
    };
  };
  const groups = { games: group('game'), covers: group('cover') };
  if (isJson) {
    print(stdout, JSON.stringify(groups));
    return;
  }
  for (const { added, changed, removed } of Object.values(groups)) {
    for (const each of added) print(stdout, `+ ${each}`);
    for (const each of changed) print(stdout, `~ ${each}`);
    for (const each of removed) print(stdout, `- ${each}`);
  }
}

function print(stream: Printable, text: string): void {
  stream.write(`${text}\n`);
}
