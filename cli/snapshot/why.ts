/**
 * Why a record or a file is public, or why not. It asks the current generation, what it knows of the
 * last 30 days and, if there is one, the database, whose rows it gives to the generator. It changes nothing.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import querystring from 'node:querystring';
import { generate } from '../../generator/generate.ts';
import { readGameUrl, readPlatformUrl } from '../../generator/rows/addresses.ts';
import type { Database, Value } from '../../lib/database/database.ts';
import { findById, idAt, splitId, textOfId } from '../../lib/format/index/ids.ts';
import {
  findGame,
  pathOfGame,
  type RecordIndex,
  sortedSlugs,
} from '../../lib/format/index/record-index.ts';
import type { RecordName } from '../../lib/format/index/removed.ts';
import type { Since } from '../../lib/format/index/since.ts';
import { coversPack, sequenceOf } from '../../lib/format/layout.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import {
  generationDir,
  idsOnDisk,
  openIndexOf,
  readManifest,
} from '../../lib/generations/generations.ts';
import { publishedAt, readHistory } from '../../lib/generations/history.ts';
import { whyHeld } from '../../lib/generations/hold.ts';
import { ONLY_CURRENT } from '../../lib/generations/prune.ts';
import { readStatus } from '../../lib/generations/state-files.ts';
import { printable } from '../../lib/program/printable.ts';
import { SILENT } from '../../lib/program/progress.ts';

/** What was asked for: a record with this id, or with this slug and perhaps of this platform. */
interface Name {
  readonly kind?: RecordName['kind'];
  readonly id?: string;
  readonly slug?: string;
  readonly platform?: string;
}

/** A record of the current generation, and the sequences of the generations in which it appeared and last changed. */
interface DatedRecord extends RecordName {
  readonly added: number;
  readonly changed: number;
}

/** Asks the database. @returns `otherwise` if there is none, or it has failed: the snapshot can answer without it */
export type Ask = <T>(question: (database: Database) => Promise<T>, otherwise: T) => Promise<T>;

/**
 * @param current the id of the current generation
 * @param word a path of the API, an id, a slug, PLATFORM/GAME, or the path or address of a file
 * @returns lines: for each record that has this name, whether it is public, and indented, why
 * @throws Error if nothing has this name, or a file cannot be read
 */
export async function explain(
  snapshotsDir: string,
  current: string,
  ask: Ask,
  word: string,
): Promise<string[]> {
  const dir = generationDir(snapshotsDir, current);
  const manifest = readManifest(dir);
  const { settings } = manifest;
  const index = openIndexOf(dir);
  const inDatabase = await ask((database) => findFiles(database, settings, word), undefined);
  const covers = new Set(inDatabase);
  // Also in older generations: a file may have been replaced.
  for (const id of idsOnDisk(snapshotsDir)) {
    try {
      for (const cover of findInPacks(generationDir(snapshotsDir, id), word)) covers.add(cover);
    } catch (error) {
      if (id === current) throw error;
    }
  }
  const names = [
    ...readName(word, settings),
    ...Array.from(covers, (id): Name => ({ kind: 'cover', id })),
  ];
  const subjects = new Map<string, RecordName>();
  const addNamed = (subject: RecordName) => {
    // The record of the current generation comes first: a row that is left out may have its path, too.
    const isNew = !subjects.has(subject.path) && names.some((name) => hasName(subject, name));
    if (isNew) subjects.set(subject.path, subject);
    return subjects.has(subject.path);
  };
  const { since, generations, removed } = readHistory(dir, index, manifest);
  const published = new Map<string, DatedRecord>();
  for (const record of recordsOf(index, since))
    if (addNamed(record)) published.set(record.path, record);
  const gone = new Map<string, number>();
  for (const record of removed)
    if (addNamed(record))
      gone.set(record.path, Math.max(gone.get(record.path) ?? 0, record.removed));
  const all = [...generations, { id: current, published_at: publishedAt(manifest) }];
  const oldest = all[0].id;
  /** The generation with a sequence, and when it was published; undefined if it is not known. */
  const generationOf = (sequence: number) => {
    const found = all.slice(1).find(({ id }) => sequenceOf(id) === sequence);
    return found && `${found.id} (${found.published_at})`;
  };
  for (const name of names)
    for (const row of await ask((database) => findRows(database, name), [])) addNamed(row);
  if (subjects.size === 0) {
    if (names.length === 0) {
      const [number] = /\d+$/.exec(word) ?? ['901'];
      throw new Error(
        `${printable(word)} is not the path of a record: those are /platforms/PLATFORM, /games/PLATFORM/GAME and /covers/ID. To ask for a game or cover by its id, give the number alone, such as ${number}.`,
      );
    }
    const where = inDatabase === undefined ? '' : ', nor has the database';
    throw new Error(`No generation since ${oldest} has ${printable(word)}${where}.`);
  }
  const lines: string[] = [];
  for (const subject of subjects.values()) {
    const record = published.get(subject.path);
    const id = subject.kind === 'game' ? splitId(subject.id) : undefined;
    const game = id && findById(index.games, id);
    const changed = record && record.changed > record.added && generationOf(record.changed);
    const removedIn = generationOf(gone.get(subject.path) ?? 0);
    lines.push(
      record !== undefined
        ? `${subject.path} is public since ${generationOf(record.added) ?? `${oldest} or earlier`}${changed ? `, last changed in ${changed}` : ''}.`
        : game !== undefined
          ? `${subject.path} is now ${pathOfGame(index, game)}.`
          : isGame(index, subject.path)
            ? `${subject.path} is the path of another game.`
            : `${subject.path} is not public: ${removedIn ? `removed in ${removedIn}` : `no generation since ${oldest} has had it`}.`,
    );
    const answer = await ask((database) => askDatabase(database, settings, subject), undefined);
    if (answer === undefined) continue;
    const { facts, isPublic } = answer;
    if (isPublic !== (record !== undefined)) facts.push(nextText(snapshotsDir, isPublic));
    lines.push(...facts.map((fact) => `  ${printable(fact)}`));
  }
  return lines;
}

function* recordsOf(index: RecordIndex, since: Since): Generator<DatedRecord> {
  const datesIn = ({ added, changed }: Since[keyof Since], at: number) => {
    return { added: added[at], changed: changed[at] };
  };
  for (const [at, slug] of sortedSlugs(index).entries()) {
    yield {
      kind: 'platform',
      id: slug,
      path: `/platforms/${slug}`,
      ...datesIn(since.platforms, at),
    };
  }
  for (const at of index.games.numberOfId.keys()) {
    const id = textOfId(idAt(index.games, at));
    yield {
      kind: 'game',
      id,
      path: pathOfGame(index, index.games.numberOfId[at]),
      ...datesIn(since.games, at),
    };
  }
  for (const at of index.covers.numberOfId.keys()) {
    const id = textOfId(idAt(index.covers, at));
    yield { kind: 'cover', id, path: `/covers/${id}`, ...datesIn(since.covers, at) };
  }
}

/** Whether a game of the generation has this path. */
function isGame(index: RecordIndex, name: string): boolean {
  const [, list, on, ...slug] = name.split('/');
  const platform = list === 'games' ? index.platformBySlug.get(on) : undefined;
  return platform !== undefined && findGame(index, platform, slug.join('/')) !== undefined;
}

/** What the next run does with a record that is public only in the database, or only in the generation. */
function nextText(snapshotsDir: string, isPublic: boolean): string {
  const held = whyHeld(snapshotsDir);
  if (held !== undefined) return held;
  const { outcome, error } = readStatus(snapshotsDir) ?? {};
  const last = error ? ` The last run was ${outcome}: ${error}` : '';
  return `The next run ${isPublic ? 'publishes' : 'removes'} it.${last}`;
}

// Names.

const API_PATH =
  /^(?:https?:\/\/[^/]+)?(?:\/api\/v1)?\/(platforms|games|covers)\/([^/]+)(?:\/([^/]+)(?:\/covers)?)?$/;

function readName(word: string, settings: Settings): Name[] {
  const { id, game, platform: on } = readGameUrl(settings, word);
  if (id !== undefined) return [{ kind: 'game', id }];
  if (game !== undefined) return [{ kind: 'game', slug: game, ...(on && { platform: on }) }];
  const { platform: named } = readPlatformUrl(settings, word);
  if (named !== undefined) return [{ kind: 'platform', slug: named }];
  const [, list, first, second] = API_PATH.exec(word) ?? [];
  if (list === 'covers') return splitId(first) ? [{ kind: 'cover', id: first }] : [];
  if (list === 'platforms') return [{ kind: 'platform', slug: first }];
  if (second !== undefined) return [{ kind: 'game', platform: first, slug: second }];
  if (list !== undefined) return [];
  // The slug of a row that is left out may have any characters.
  const [, platform = '', slug] = /^([^/]+)\/(.+)$/.exec(word) ?? [];
  return [
    ...(splitId(word) === undefined ? [] : [{ id: word }]),
    ...(slug === undefined ? [] : [{ platform, slug }]),
    { slug: word },
  ];
}

function hasName({ kind, id, path: name }: RecordName, wanted: Name): boolean {
  if (wanted.kind !== undefined && wanted.kind !== kind) return false;
  if (wanted.id !== undefined) return kind !== 'platform' && wanted.id === id;
  const [, , platform, ...rest] = name.split('/');
  const slug = rest.length === 0 ? platform : rest.join('/');
  if (kind === 'cover' || wanted.slug !== slug) return false;
  return wanted.platform === undefined || (kind === 'game' && wanted.platform === platform);
}

/** The ids of the covers in a generation with a file of this path or address. */
function* findInPacks(dir: string, word: string): Generator<string> {
  if (!word.includes('/') || API_PATH.test(word)) return;
  const end = `/${encodeURI(word).replace(/^(?:https?:)?\/+/, '')}"`;
  for (const { slug } of openIndexOf(dir).platforms) {
    const pack = readFileSync(path.join(dir, coversPack(slug)));
    for (let at = pack.indexOf(end); at >= 0; at = pack.indexOf(end, at + 1)) {
      const line = pack.lastIndexOf('\n', at) + 1;
      const [, id = ''] = /^\{"id":(\d+)/.exec(pack.toString('latin1', line, line + 40)) ?? [];
      yield id;
    }
  }
}

// The database.

/** A row, and the ids of the rows that it depends on, by table. */
interface FoundRow extends RecordName {
  readonly rows: Readonly<Record<string, Value>>;
  /** Of a cover. */
  readonly status: Value;
}

/** The ids of the covers with a file of this path or address. */
async function findFiles(database: Database, { files_url }: Settings, word: string) {
  const start = word.startsWith(`${files_url}/`) ? files_url.length : 0;
  const relative = word.slice(start).replace(/^\/+/, '');
  const sql = 'SELECT cover_id FROM cover_files WHERE path IN (?, ?)';
  const found = await database.rows(sql, [relative, querystring.unescape(relative)]);
  return found.map(([cover]) => String(cover));
}

/** For each kind: its id; slugs of game and platform; the ids of platform, game and cover; the status. */
const QUERIES = {
  platform: 'SELECT slug, NULL, NULL, id, NULL, NULL, NULL FROM platforms',
  game: 'SELECT games.id, games.slug, platforms.slug, platform_id, games.id, NULL, NULL FROM games LEFT JOIN platforms ON platforms.id = platform_id',
  cover:
    'SELECT covers.id, NULL, NULL, platform_id, game_id, covers.id, status FROM covers LEFT JOIN games ON games.id = game_id',
};

const is = (column: string, id: Value) =>
  /^-?\d+$/.test(String(id)) ? `${column} = ${id}` : '1 = 0';

/** The rows that may have a name: the collation of a column can take more texts for equal. */
async function findRows(database: Database, { kind, id, slug = '' }: Name): Promise<FoundRow[]> {
  const found: FoundRow[] = [];
  const kinds = id === undefined ? (['platform', 'game'] as const) : (['game', 'cover'] as const);
  for (const each of kind === undefined ? kinds : [kind]) {
    const where = id === undefined ? `${each}s.slug = ?` : is(`${each}s.id`, id);
    const sql = `${QUERIES[each]} WHERE ${where}`;
    for (const row of await database.rows(sql, id === undefined ? [slug] : [])) {
      const [name, ofGame, on, platforms, games, covers, status] = row;
      const end = each === 'game' ? `${on ?? '(no platform)'}/${ofGame}` : name;
      const rows = { platforms, games, covers };
      found.push({ kind: each, id: String(name), path: `/${each}s/${end}`, status, rows });
    }
  }
  return found;
}

/** @returns sentences about the rows of a record, and whether a run would publish it */
async function askDatabase(
  database: Database,
  settings: Settings,
  { kind, id, path: name }: RecordName,
) {
  const rows = await findRows(database, kind === 'platform' ? { kind, slug: id } : { kind, id });
  const row = rows.find((each) => each.path === name) ?? rows[0];
  if (row === undefined) return { facts: ['The database has no such row.'], isPublic: false };
  if (row.path !== name) {
    return { facts: [`The database has it as ${row.path}.`], isPublic: false };
  }
  const { games, covers } = row.rows;
  const snapshotsDir = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-why-'));
  const part = {
    // Also the games that may have the same path.
    games: `${is('id', games)} OR slug IN (SELECT slug FROM games WHERE ${is('id', games)})`,
    covers: is('id', covers),
  };
  const options = { snapshotsDir, settings, part, warnings: [], keep: ONLY_CURRENT };
  const run = { ...options, isDryRun: true, isForced: true };
  const { report } = await generate(database, run, SILENT).finally(() =>
    rmSync(snapshotsDir, { recursive: true, force: true }),
  );
  const leftOut = report.rows.filter(
    ({ table, id: found }) => table === 'cover_files' || row.rows[table] === found,
  );
  const facts = leftOut.map(
    (each) =>
      `Row ${each.id} of ${each.table} is left out: ${each.reason}: ${JSON.stringify(each.value)}.`,
  );
  const isHidden = kind === 'cover' && row.status !== 'approved';
  if (isHidden)
    facts.unshift(`Row ${covers} of covers has the status ${JSON.stringify(row.status)}.`);
  const isPublic = !isHidden && leftOut.every(({ table }) => table === 'cover_files');
  return { facts, isPublic };
}
