/**
 * `cover-catalogue snapshot VERB …`: operators list, show, verify and compare generations, ask why a record is not
 * public, roll back, hold and resume publishing, and prune. Data goes to stdout, everything else to stderr.
 */
import { once } from 'node:events';
import { createReadStream, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { checkFind } from '../find/check.ts';
import { MINISEARCH_OPTIONS } from '../find/search/minisearch.ts';
import type { Database } from '../lib/database/database.ts';
import { openDatabase } from '../lib/database/open.ts';
import { isReason, LONGEST_REASON } from '../lib/format/hold-file.ts';
import { MINISEARCH } from '../lib/format/layout.ts';
import { findOtherCollation, type Manifest } from '../lib/format/manifest.ts';
import { openCompared } from '../lib/generations/compare.ts';
import {
  currentId,
  findGeneration,
  generationDir,
  idsOnDisk,
  readManifest,
  readManifestFile,
} from '../lib/generations/generations.ts';
import { publishedAt } from '../lib/generations/history.ts';
import { holdCurrent, removeHold, whyHeld } from '../lib/generations/hold.ts';
import { KEEP_VARIABLES, type Keep, keepOf, prune } from '../lib/generations/prune.ts';
import { rollbackTo } from '../lib/generations/rollback.ts';
import { everything, verifyAndOpen } from '../lib/generations/verify.ts';
import { type Arguments, readValue, readVerb, type VerbSyntax } from '../lib/program/arguments.ts';
import { ConfigurationError, readEnvironment } from '../lib/program/environment/environment.ts';
import { wholeNumber } from '../lib/program/environment/values.ts';
import { makeCommand, messageOf } from '../lib/program/failure.ts';
import { checkReadableFolder, checkWritableFolder } from '../lib/program/folders.ts';
import type { Invocation } from '../lib/program/invocation.ts';
import { counted } from '../lib/program/printable.ts';
import type { Printable } from '../lib/program/progress.ts';
import type { Ask } from './snapshot/why.ts';

interface SnapshotVerb extends VerbSyntax {
  /** Whether the verb changes SNAPSHOTS_DIR. */
  readonly writes?: true;
  run(call: VerbContext, args: Arguments): Promise<void> | void;
}

/** A verb is called with the folder, the variables and the streams to print on. */
interface VerbContext extends Pick<Invocation, 'stdout' | 'stderr' | 'variables'> {
  readonly dir: string;
  readonly keep: Keep;
}

const VERBS: readonly SnapshotVerb[] = [
  {
    usage: 'list [--json]',
    help: 'lists the generations, oldest first; "*" marks the current generation, "held" that publishing is held at it',
    run: list,
  },
  {
    usage: 'show PATH [ID]',
    help: 'prints the exact body that the API sends for a path such as /games/snes/chrono-trigger or "/search?q=chrono"',
    async run({ dir, stdout }, { positionals: [target, id] }) {
      const picked = pickId(dir, id);
      // Only this verb needs the proxy, and importing it takes longer than a small push.
      const { readStoredBody } = await import('../proxy/read-stored-body.ts');
      stdout.write(await readStoredBody(dir, picked, target));
    },
  },
  {
    usage: 'verify [ID]',
    help: 'reads a generation back, checks it against its manifest and index, and loads search.json with MiniSearch',
    run: verify,
  },
  {
    usage: 'why NAME',
    help: 'says since when a record or file is public, or why it is not: NAME is a path such as /covers/1, an id, a slug, PLATFORM/GAME, or the path or address of a file; with DATABASE_URL, also asks the database',
    run: why,
  },
  {
    usage: 'archive [ID]',
    help: 'writes a generation to stdout as a tar file, the bytes that the API sends for /snapshot/archive',
    run: archive,
  },
  {
    usage: 'diff ID [ID] [--all] [--json]',
    help: 'sums up what was added, changed or removed between two generations, and lists the first 20 records, or all, with the members before and after; the second is the current one by default; an ID may be a number, such as 12',
    run: diff,
  },
  {
    usage: 'rollback ID [--with-taken-down] [--reason TEXT] [--no-hold]',
    help: 'verifies a generation, publishes its content as a new one and holds that; refuses, except with --with-taken-down, if it has covers or games that are not public now, or were changed since; with --no-hold, the next run publishes the database again',
    writes: true,
    async run({ dir, keep, stdout, stderr }, { positionals: [name], texts, switches }) {
      const id = findGeneration(dir, name);
      const reason = readReason(texts.reason);
      const isHold = !switches.has('no-hold');
      if (!isHold && whyHeld(dir) !== undefined) {
        throw new Error('--no-hold cannot be used while publishing is held.');
      }
      const published = await rollbackTo(dir, id, {
        checkFind,
        keep,
        withTakenDown: switches.has('with-taken-down'),
        warn: (text) => print(stderr, `Warning: ${text}`),
        hold: isHold ? { reason } : undefined,
      });
      print(stdout, `${published.id} is current, with the content of ${id}.`);
    },
  },
  {
    usage: 'hold [--reason TEXT]',
    help: 'pauses publishing, also of takedowns: no run publishes until "resume"; runs still export keys',
    writes: true,
    async run({ dir, stdout, stderr }, { texts }) {
      const reason = readReason(texts.reason);
      const onWait = () =>
        print(stderr, 'Publishing is paused. Waiting for the run that is under way to end …');
      const { id } = await holdCurrent(dir, reason, onWait);
      print(stdout, `${id} is held.`);
    },
  },
  {
    usage: 'resume',
    help: 'ends a hold: the next run publishes the database again',
    writes: true,
    run({ dir, stderr }) {
      const resumed = 'Publishing is resumed: the next run publishes the database again.';
      print(stderr, removeHold(dir) ? resumed : 'Publishing was not held.');
    },
  },
  {
    usage: `prune [--keep N]`,
    help: `removes old generations and unfinished files of killed runs; keeps those that KEEP_GENERATIONS and KEEP_DAYS say, or only the last N, of which the current one is the last`,
    writes: true,
    async run({ dir, keep, stdout, stderr }, { texts }) {
      const last = texts.keep && readValue('--keep', texts.keep, wholeNumber(1, 1_000));
      const removed = await prune(dir, last ? { generations: last, days: 0 } : keep);
      for (const id of removed) print(stdout, id);
      print(stderr, `${counted(removed.length, 'generation')} removed.`);
    },
  },
];

export const runSnapshot = makeCommand(runVerb);

async function runVerb({ words, stdout, stderr, variables }: Invocation): Promise<number> {
  const summary = 'Generations in SNAPSHOTS_DIR.';
  const { verb, args } = readVerb(
    { name: 'cover-catalogue snapshot', summary, verbs: VERBS },
    words,
  );
  const environment = readEnvironment(['SNAPSHOTS_DIR', ...KEEP_VARIABLES], variables(), {
    SNAPSHOTS_DIR: verb.writes ? checkWritableFolder : checkReadableFolder,
  });
  const { SNAPSHOTS_DIR: dir } = environment;
  try {
    await verb.run({ dir, keep: keepOf(environment), stdout, stderr, variables }, args);
    return 0;
  } finally {
    // Also if it has failed.
    const held = verb.writes && whyHeld(dir);
    if (held) print(stderr, held);
  }
}

function readReason(text: string | undefined): string | undefined {
  if (text === undefined || isReason(text)) return text?.trim();
  throw new ConfigurationError(
    `--reason must be one line of 1 to ${LONGEST_REASON} characters, not ${JSON.stringify(text)}.`,
  );
}

// The folder may be relative, and the operator in another one.
const noGeneration = (dir: string) => `There is no generation in ${path.resolve(dir)} yet.`;

/** The id of the generation that the operator has named, or else of the current one. */
function pickId(snapshotsDir: string, name: string | undefined): string {
  const picked = name ?? currentId(snapshotsDir);
  if (picked === undefined) throw new Error(noGeneration(snapshotsDir));
  return findGeneration(snapshotsDir, picked);
}

function list({ dir, stdout, stderr }: VerbContext, { switches }: Arguments): void {
  const why = whyHeld(dir);
  const currentNow = currentId(dir);
  const generations = idsOnDisk(dir).map((id) => {
    const folder = generationDir(dir, id);
    const current = id === currentNow;
    let manifest: Manifest | undefined;
    let fault: string | null = null;
    try {
      manifest = readManifest(folder);
    } catch (error) {
      fault = (error as Error).message;
    }
    const counts = manifest?.counts ?? null;
    const published_at = manifest ? publishedAt(manifest) : statSync(folder).mtime.toISOString();
    return { id, current, published_at, counts, fault, held: current && why !== undefined };
  });
  if (switches.has('json')) {
    print(stdout, JSON.stringify(generations));
    return;
  }
  if (generations.length === 0) print(stderr, noGeneration(dir));
  for (const { id, current, published_at, counts, fault, held } of generations) {
    const what = counts === null ? fault : contentText(counts);
    const line = `${current ? '*' : ' '} ${id}  ${published_at.slice(0, 19)}Z  ${what}`;
    print(stdout, held ? `${line}  held` : line);
  }
  if (why !== undefined) print(stderr, why);
}

async function verify(
  { dir, stdout, stderr }: VerbContext,
  { positionals }: Arguments,
): Promise<void> {
  const id = pickId(dir, positionals[0]);
  const generation = generationDir(dir, id);
  const { manifest } = await verifyAndOpen(generation, everything(checkFind));
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
  print(stdout, `${id} is complete and undamaged: ${contentText(counts)}.`);
}

function contentText({ games, covers }: Manifest['counts']): string {
  return `${counted(games, 'game')}, ${counted(covers, 'cover')}`;
}

async function why(
  { dir, stdout, stderr, variables }: VerbContext,
  { positionals: [name] }: Arguments,
) {
  const { explain } = await import('./snapshot/why.ts');
  if (name === '') throw new ConfigurationError('NAME must not be empty.');
  const { DATABASE_URL = '' } = variables();
  let fault = DATABASE_URL === '' ? 'DATABASE_URL is not set.' : undefined;
  let database: Database | undefined;
  const ask: Ask = async (question, otherwise) => {
    if (fault !== undefined) return otherwise;
    try {
      database ??= await openDatabase(DATABASE_URL);
      return await question(database);
    } catch (error) {
      fault = messageOf(error);
      return otherwise;
    }
  };
  try {
    for (const line of await explain(dir, pickId(dir, undefined), ask, name)) print(stdout, line);
  } finally {
    if (fault !== undefined)
      print(stderr, `The database ${database ? 'did not answer' : 'was not asked'}: ${fault}`);
    await database?.close();
  }
}

async function archive({ dir, stdout }: VerbContext, { positionals }: Arguments): Promise<void> {
  if ('isTTY' in stdout && stdout.isTTY) {
    throw new ConfigurationError('An archive is not for a terminal: add "> snapshot.tar".');
  }
  const folder = generationDir(dir, pickId(dir, positionals[0]));
  const { manifest } = await verifyAndOpen(folder, everything(checkFind));
  const { archiveOf, readArchive } = await import('../lib/format/tar.ts');
  const whole = archiveOf(manifest, readManifestFile(folder).file);
  const pieces = readArchive(whole, 0, whole.size, (file) =>
    createReadStream(path.join(folder, file.path)),
  );
  for await (const piece of pieces) {
    if (stdout.write(piece) === false) await once(stdout as NodeJS.WriteStream, 'drain');
  }
}

async function diff({ dir, stdout, stderr }: VerbContext, { positionals, switches }: Arguments) {
  const { changeJson, changeLines, compareRecords } = await import('./snapshot/diff.ts');
  const [from, to] = [positionals[0], positionals[1]].map((name) => pickId(dir, name));
  if (from === to) print(stderr, `Both are ${from}: nothing differs.`);
  const [before, after] = [from, to].map((id) => {
    const folder = generationDir(dir, id);
    return { dir: folder, ...openCompared(folder) };
  });
  const compare = () => compareRecords(before, after);
  if (switches.has('json')) {
    const data = Array.from(compare(), changeJson);
    print(stdout, `{"from":"${from}","to":"${to}","data":[${data}]}`);
  } else for (const line of changeLines(compare, switches.has('all'))) print(stdout, line);
}

function print(stream: Printable, text: string): void {
  stream.write(`${text}\n`);
}
