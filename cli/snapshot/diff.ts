/**
 * What differs between two generations, record by record and member by member, for operators. What only repeats the
 * change of another record is left out: a cover has the title of its game, a game the name of its platform. A cover
 * that has another game is a change of its own.
 */
import { firstIndex } from '../../lib/columns/arrays.ts';
import { findById, type IdColumns, splitId } from '../../lib/format/index/ids.ts';
import { platformOf, type RecordColumns } from '../../lib/format/index/record-index.ts';
import { encodeName, type RecordName } from '../../lib/format/index/removed.ts';
import { titlesOf } from '../../lib/format/index/titles.ts';
import { isObject } from '../../lib/format/json/values.ts';
import { coversPack, gamesPack } from '../../lib/format/layout.ts';
import { type Compared, compareGenerations } from '../../lib/generations/compare.ts';
import { readPart } from '../../lib/generations/files/checked-files.ts';
import { getOrAdd } from '../../lib/program/get-or-add.ts';
import { parseExactly, printable } from '../../lib/program/printable.ts';

/** A generation, or the files that a run has written. */
export interface Side extends Compared {
  readonly dir: string;
}

export interface RecordChange extends RecordName {
  readonly change: 'added' | 'changed' | 'removed';
  /** Of a changed record: each member that differs, such as "files[0].width", before and after. */
  readonly members: readonly (readonly [name: string, before: unknown, after: unknown])[];
}

/** The member of a record that repeats another record, as long as the record belongs to the same one. */
const REPEATED = { platform: undefined, game: 'platform', cover: 'game' } as const;

/** @returns the changes by kind and id */
export function* compareRecords(before: Side, after: Side): Generator<RecordChange> {
  for (const { kind, id, path, ...at } of compareGenerations(before, after)) {
    const name = { kind, id, path };
    if (at.before === undefined) yield { change: 'added', ...name, members: [] };
    else if (at.after === undefined) yield { change: 'removed', ...name, members: [] };
    else {
      const [old, fresh] = [before, after].map((side) => readRecord(side, name));
      // A game on another platform has another path, so it is removed and added.
      const isMoved = kind === 'cover' && gameOfCover(before, id) !== gameOfCover(after, id);
      const repeated = isMoved ? undefined : REPEATED[kind];
      const members = [...changedMembers(old, fresh)].filter(
        ([member]) => member.split('.', 1)[0] !== repeated,
      );
      if (members.length > 0) yield { change: 'changed', ...name, members };
    }
  }
}

/** Reads a record of a generation that has it. That of a game has one more member, its alternative titles. */
function readRecord(side: Side, { kind, id }: RecordName): unknown {
  const { platforms, platformBySlug, games, covers } = side.index;
  if (kind === 'platform') return parseExactly(platforms[platformBySlug.get(id) ?? -1].record);
  if (kind === 'game') {
    const number = numberOf(games, id);
    const titles = JSON.parse(String(Buffer.from(titlesOf(side.titles, number) ?? '[]')));
    return { ...readGame(side, number), titles };
  }
  const number = numberOf(covers, id);
  const pack = coversPack(platforms[platformOf(platforms, 'firstCover', number)].slug);
  return readAt(side.dir, pack, covers, number);
}

function readGame({ dir, index: { platforms, games } }: Side, number: number): object {
  const pack = gamesPack(platforms[platformOf(platforms, 'firstGame', number)].slug);
  return Object(readAt(dir, pack, games, number));
}

/** The id, as JSON, of the game that a cover has in a generation. */
function gameOfCover(side: Side, id: string): string {
  const { games, covers } = side.index;
  const cover = numberOf(covers, id);
  const game = firstIndex(0, games.rank.length, (at) => games.firstCover[at + 1] > cover);
  return JSON.stringify((readGame(side, game) as { readonly id: unknown }).id);
}

function numberOf(columns: IdColumns, id: string): number {
  return findById(columns, splitId(id) ?? [0, 0]) ?? -1;
}

function readAt(dir: string, pack: string, { byteOffset, byteLength }: RecordColumns, at: number) {
  return parseExactly(readPart(dir, pack, byteOffset[at], byteLength[at]));
}

/** The innermost values that differ. */
function* changedMembers(
  before: unknown,
  after: unknown,
  name = '',
): Generator<RecordChange['members'][number]> {
  const isList = Array.isArray(before) && Array.isArray(after) && before.length === after.length;
  if (isList || (isParsed(before) && isParsed(after))) {
    const [from, to] = [before, after] as Record<string, unknown>[];
    for (const key of new Set([...Object.keys(from), ...Object.keys(to)])) {
      const inner = isList ? `${name}[${key}]` : name === '' ? key : `${name}.${key}`;
      yield* changedMembers(from[key], to[key], inner);
    }
  } else if (JSON.stringify(before) !== JSON.stringify(after)) yield [name, before, after];
}

/** Whether a value is an object of JSON, not a number that is kept as it was written. */
function isParsed(value: unknown): boolean {
  return isObject(value) && !('rawJSON' in value);
}

const SIGNS = { added: '+', changed: '~', removed: '-' };
/** In UTF-16 code units. */
const LONGEST_SHOWN = 60;

/** How many changes are shown without `--all`. */
const SHOWN = 20;

/**
 * A summary of changes, such as "4,727 covers changed: type; 12 games added", and a line for each; for the first
 * ones only, unless `isAll`. No lines if there are no changes.
 * @param compare with `isAll`, it is called twice: memory does not grow with the number of changes
 */
export function* changeLines(
  compare: () => Iterable<RecordChange>,
  isAll: boolean,
): Generator<string> {
  const sums = new Map<string, Sum>();
  const first: string[] = [];
  let total = 0;
  for (const change of compare()) {
    if (total++ < SHOWN) first.push(changeLine(change));
    addTo(sums, change);
  }
  if (total === 0) return;
  yield summaryOf(sums);
  if (isAll) for (const change of compare()) yield changeLine(change);
  else yield* first;
  if (!isAll && total > SHOWN) yield `… and ${inDigits(total - SHOWN)} more: --all shows them`;
}

/** The records of one kind to which the same has happened. */
interface Sum extends Pick<RecordChange, 'kind' | 'change'> {
  records: number;
  /** In how many of the records a member differs, by its name: "files.width" for that of any file. */
  readonly members: Map<string, number>;
}

function addTo(sums: Map<string, Sum>, { kind, change, members }: RecordChange): void {
  const sum = getOrAdd(sums, `${kind} ${change}`, () => ({
    ...{ kind, change, records: 0, members: new Map<string, number>() },
  }));
  sum.records++;
  for (const name of new Set(members.map(([member]) => member.replaceAll(/\[\d+\]/g, '')))) {
    sum.members.set(name, (sum.members.get(name) ?? 0) + 1);
  }
}

function summaryOf(sums: ReadonlyMap<string, Sum>): string {
  const parts = [...sums.values()]
    .sort((a, b) => b.records - a.records)
    .map(({ kind, change, records, members }) => {
      const differing = [...members]
        .sort(([, a], [, b]) => b - a)
        .map(([name, count]) => (count === records ? name : `${name} (${inDigits(count)})`));
      const which = differing.length > 0 ? `: ${differing.join(', ')}` : '';
      return `${inDigits(records)} ${kind}${records === 1 ? '' : 's'} ${change}${which}`;
    });
  return printable(parts.join('; '));
}

const inDigits = (count: number) => count.toLocaleString('en');

/** "~ /games/snes/chrono-trigger  title: "A" → "B"" */
function changeLine({ change, path, members }: RecordChange): string {
  const shown = members.map(
    ([name, before, after]) => `${name}: ${shownPart(before)} → ${shownPart(after)}`,
  );
  return `${SIGNS[change]} ${path}${shown.length > 0 ? `  ${shown.join(', ')}` : ''}`;
}

function shownPart(value: unknown): string {
  const json = JSON.stringify(value ?? null);
  return printable(json.length > LONGEST_SHOWN ? `${json.slice(0, LONGEST_SHOWN)}…` : json);
}

/** A change as a JSON object, as `/changes` has it, with the changed members before and after. */
export function changeJson({ change, members, ...name }: RecordChange): string {
  const values = Object.fromEntries(members.map(([member, ...pair]) => [member, pair]));
  return printable(
    `{"change":"${change}",${encodeName(name)},"members":${JSON.stringify(values)}}`,
  );
}
