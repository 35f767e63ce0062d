/**
 * The JSON of each record, member by member in the order of the contract. JSON.stringify cannot write it:
 * ids beyond 2^53 must stay exact, and a record is assembled from the rows of several tables, of which a
 * run keeps only the values (`read/row-values.ts`).
 */
import { textOfId } from '../../lib/format/index/ids.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import { textOf } from '../../lib/format/pack.ts';
import type { CoverRows, FileRows, GameRows, Platform } from './catalogue.ts';
import { type CoverRow, type GameRow, NONE } from './columns.ts';
import { idOf } from './ids.ts';
import { openTexts, type RowTexts } from './texts.ts';
import { encodeTime } from './times.ts';

/** Stands for FILES_URL in memory, where a zero byte ends each value. */
export const FILES_URL = '\u0001';
/** More bytes than the names, numbers and punctuation of any record take. */
const FIXED_BYTES = 256;

const COMMA = 0x2c;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/** Before each value: the name of its member, with the punctuation around it. */
const GAME_MEMBERS = membersOf('id slug title release_year description genres developer publisher');
const FILE_MEMBERS = membersOf('id variant mime_type width height size_bytes url');

function membersOf(names: string): Buffer[] {
  return names.split(' ').map((name, at) => Buffer.from(`${at === 0 ? '{' : ','}"${name}":`));
}

/** Makes records of games, or of files, from the values of their rows. */
export function openValues<Row extends number>(
  { texts, position, length }: RowTexts<Row>,
  filesUrl = '',
) {
  const { blockOf, indexOf } = openTexts(texts);
  const ofFilesUrl = Buffer.from(JSON.stringify(filesUrl).slice(1, -1));

  /** Writes members byte by byte: for a million short values, a call for each takes longer. */
  function putMembers(target: Buffer, at: number, row: Row, members: readonly Buffer[]): number {
    const source = blockOf(position[row]);
    let from = indexOf(position[row]);
    let end = at;
    for (const name of members) {
      for (let i = 0; i < name.length; i++) target[end++] = name[i];
      for (let byte = source[from++]; byte !== 0; byte = source[from++]) {
        if (byte !== 1) target[end++] = byte;
        else for (let i = 0; i < ofFilesUrl.length; i++) target[end++] = ofFilesUrl[i];
      }
    }
    return end;
  }

  /** The JSON of a value, which is `before` values after the first. They are short: `indexOf` would take longer. */
  function valueAt(row: Row, before: number, encoding: 'latin1' | 'utf8'): string {
    const source = blockOf(position[row]);
    let start = indexOf(position[row]);
    for (let left = before; left > 0; start++) if (source[start] === 0) left--;
    let end = start;
    while (source[end] !== 0) end++;
    return source.toString(encoding, start, end);
  }
  const slugJson = (row: Row) => valueAt(row, 1, 'latin1');
  const titleJson = (row: Row) => valueAt(row, 2, 'utf8');

  return {
    /** The most bytes that the record of a game up to `publisher`, or of a file, takes. */
    mostBytes: (row: Row) => FIXED_BYTES + length[row] + ofFilesUrl.length,
    /** Writes the record of a game up to `publisher`. @returns the position after it */
    putGame: (target: Buffer, at: number, row: Row) => putMembers(target, at, row, GAME_MEMBERS),
    /** Writes the members of a file, without the closing brace. @returns the position after them */
    putFile: (target: Buffer, at: number, row: Row) => putMembers(target, at, row, FILE_MEMBERS),
    slugJson,
    titleJson,
    slug: (row: Row) => textOf(slugJson(row)),
    title: (row: Row) => textOf(titleJson(row)),
  };
}

/** Where records are written: after a single `reserve`, into `buffer` from `at` on. */
export interface RecordTarget {
  readonly buffer: Buffer;
  at: number;
  reserve(bytes: number): void;
}

/** @returns a function that writes the record of a game that was read */
export function makeGameRecords(
  settings: Settings,
  platforms: readonly Platform[],
  { texts, platform }: GameRows,
) {
  const { putGame, slug: slugOf, mostBytes } = openValues(texts);
  const tails = platforms.map(
    ({ slug, name }) =>
      `,"platform":${encodePlatformRef(slug, name)},"url":"${platformUrl(settings, slug)}/game/`,
  );
  return (target: RecordTarget, row: GameRow, covers: number): void => {
    const rest = `,"cover_count":${covers}${tails[platform[row]]}${slugOf(row)}"}`;
    target.reserve(mostBytes(row) + rest.length * 3);
    target.at = putGame(target.buffer, target.at, row);
    target.at += target.buffer.write(rest, target.at);
  };
}

/** @returns a function that writes the record of a published cover that was read */
export function makeCoverRecords(
  { files_url }: Settings,
  platforms: readonly Platform[],
  games: GameRows,
  covers: CoverRows,
  files: FileRows,
) {
  const { slugJson, titleJson } = openValues(games.texts);
  const { putFile, mostBytes } = openValues(files.texts, files_url);
  const references = platforms.map(({ slug, name }) => encodePlatformRef(slug, name));
  const regions = covers.regions.map(encodeText);
  const types = covers.types.map(encodeText);
  // Covers come in the order of their games.
  let lastGame: GameRow | undefined;
  let gameMember = '';
  return (target: RecordTarget, row: CoverRow): void => {
    const game = covers.game[row];
    if (game !== NONE && game !== lastGame) {
      lastGame = game;
      gameMember = `{"slug":${slugJson(game)},"title":${titleJson(game)},"platform":${references[games.platform[game]]}}`;
    }
    const id = textOfId(idOf(covers.ids, row));
    const time = encodeTime(covers.approvedAt[row]);
    const head = `{"id":${id},"region":${regions[covers.region[row]]},"type":${types[covers.type[row]]},"approved_at":${time && `"${time}"`},"game":${gameMember},"files":[`;
    const first = covers.firstFile[row];
    let most = FIXED_BYTES + head.length * 3;
    for (let file = first; file !== NONE; file = files.next[file]) most += mostBytes(file);
    target.reserve(most);
    const { buffer } = target;
    let end = target.at + buffer.write(head, target.at);
    for (let file = first; file !== NONE; file = files.next[file]) {
      if (file !== first) buffer[end++] = COMMA;
      end = putFile(buffer, end, file);
      buffer[end++] = CLOSING_BRACE;
    }
    buffer[end++] = CLOSING_BRACKET;
    buffer[end++] = CLOSING_BRACE;
    target.at = end;
  };
}

/** The JSON of a text or null. */
export function encodeText(value: string | null): string {
  return value === null ? 'null' : JSON.stringify(value.toWellFormed());
}

/** The JSON of a platform inside a game or a cover. */
function encodePlatformRef(slug: string, name: string): string {
  return `{"slug":"${slug}","name":${encodeText(name)}}`;
}

/** The address of a platform's page; the addresses of its games begin with it. */
export function platformUrl({ site_url, site_language }: Settings, slug: string): string {
  return `${site_url}/${site_language}/platform/${slug}`;
}

export function encodePlatform(
  slug: string,
  name: string,
  games: number,
  covers: number,
  url: string,
): string {
  return `{"slug":"${slug}","name":${encodeText(name)},"game_count":${games},"cover_count":${covers},"url":"${url}"}`;
}
