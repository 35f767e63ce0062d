/**
 * The JSON of each record, member by member in the order of the contract. JSON.stringify cannot write it:
 * ids beyond 2^53 must stay exact, and a record is assembled from the rows of several tables, of which a
 * run keeps only the values of members (`members.ts`).
 */
import { NONE, type None } from '../../lib/columns/numbers.ts';
import { textOfId } from '../../lib/format/index/ids.ts';
import type { Settings } from '../../lib/format/manifest.ts';
import { textOf } from '../../lib/format/pack.ts';
import { gameUrlTemplate } from './addresses.ts';
import type { CoverRow, GameRow, GameRows, Platform, RecordTarget, Rows } from './catalogue.ts';
import { idOf } from './ids.ts';
import { FILE_MEMBERS, GAME_MEMBERS, type RecordMember } from './members.ts';
import type { RowTexts } from './texts.ts';
import { encodeText, encodeTime } from './values.ts';

/** Stands for FILES_URL in memory, where a zero byte ends each value. */
export const FILES_URL_MARK = '\u0001';
/** More bytes than the names, numbers and punctuation of any record take. */
const FIXED_BYTES = 256;

const COMMA = 0x2c;
const CLOSING_BRACKET = 0x5d;
const CLOSING_BRACE = 0x7d;

/** Before each value: the name of its member, with the punctuation around it. */
const BEFORE_GAME_VALUES = GAME_MEMBERS.map(beforeValue);
const BEFORE_FILE_VALUES = FILE_MEMBERS.map(beforeValue);

function beforeValue({ name }: RecordMember, at: number): Buffer {
  return Buffer.from(`${at === 0 ? '{' : ','}"${name}":`);
}

/** The index of each among the values of a game. */
const SLUG = GAME_MEMBERS.findIndex(({ name }) => name === 'slug');
const TITLE = GAME_MEMBERS.findIndex(({ name }) => name === 'title');

export const slugOf = ({ texts }: GameRows, row: GameRow) => textOf(texts.valueAt(row, SLUG));
export const titleOf = ({ texts }: GameRows, row: GameRow) => textOf(texts.valueAt(row, TITLE));

/** What records are made of. */
export type RecordRows = Pick<Rows, 'games' | 'covers' | 'files'>;

/** Writes the records of published games and covers that were read. */
export class RecordWriter {
  private readonly rows: RecordRows;
  private readonly filesUrl: Buffer;
  /** For each platform, the JSON of its games from `platform` on, with what is between the places in it. */
  private readonly gameEnds: readonly (readonly string[])[];
  private readonly platforms: readonly string[];
  private readonly regions: readonly string[];
  private readonly types: readonly string[];
  /** In packs, covers come in the order of their games. */
  private lastGame: GameRow | None = NONE;
  private lastMember = '';

  constructor(settings: Settings, platforms: readonly Platform[], rows: RecordRows) {
    this.rows = rows;
    this.filesUrl = Buffer.from(JSON.stringify(settings.files_url).slice(1, -1));
    this.platforms = platforms.map(
      ({ slug, name }) => `{"slug":"${slug}","name":${encodeText(name)}}`,
    );
    this.gameEnds = platforms.map((platform, at) => {
      const url = encodeText(gameUrlTemplate(settings, platform));
      const [start, ...rest] = url.split(/\{(game|id)\}/);
      return [`,"platform":${this.platforms[at]},"url":${start}`, ...rest];
    });
    this.regions = rows.covers.values.region.texts.map(encodeText);
    this.types = rows.covers.values.type.texts.map(encodeText);
  }

  addGame(target: RecordTarget, row: GameRow, covers: number): void {
    const { games } = this.rows;
    const [start, ...rest] = this.gameEnds[games.platform[row]];
    let end = `,"cover_count":${covers}${start}`;
    for (let at = 0; at < rest.length; at += 2) {
      end += rest[at] === 'game' ? slugOf(games, row) : textOfId(idOf(games.ids, row));
      end += rest[at + 1];
    }
    end += '}';
    target.reserve(FIXED_BYTES + games.texts.length[row] + end.length * 3);
    target.at = this.putMembers(target.buffer, target.at, games.texts, row, BEFORE_GAME_VALUES);
    target.at += target.buffer.write(end, target.at);
  }

  addCover(target: RecordTarget, row: CoverRow): void {
    const { covers, files } = this.rows;
    const id = textOfId(idOf(covers.ids, row));
    const region = this.regions[covers.values.region.column[row]];
    const type = this.types[covers.values.type.column[row]];
    const time = encodeTime(covers.approvedAt[row]);
    const head = `{"id":${id},"region":${region},"type":${type},"approved_at":${time && `"${time}"`},"game":${this.gameOf(row)},"files":[`;
    const first = covers.firstFile[row];
    let most = FIXED_BYTES + head.length * 3;
    for (let file = first; file !== NONE; file = files.next[file])
      most += FIXED_BYTES + files.texts.length[file] + this.filesUrl.length;
    target.reserve(most);
    const { buffer } = target;
    let end = target.at + buffer.write(head, target.at);
    for (let file = first; file !== NONE; file = files.next[file]) {
      if (file !== first) buffer[end++] = COMMA;
      end = this.putMembers(buffer, end, files.texts, file, BEFORE_FILE_VALUES);
      buffer[end++] = CLOSING_BRACE;
    }
    buffer[end++] = CLOSING_BRACKET;
    buffer[end++] = CLOSING_BRACE;
    target.at = end;
  }

  private gameOf(cover: CoverRow): string {
    const { games, covers } = this.rows;
    const game = covers.game[cover];
    if (game !== NONE && game !== this.lastGame) {
      this.lastGame = game;
      const { texts, platform } = games;
      this.lastMember = `{"slug":${texts.valueAt(game, SLUG)},"title":${texts.valueAt(game, TITLE)},"platform":${this.platforms[platform[game]]}}`;
    }
    return this.lastMember;
  }

  /** Writes values byte by byte: for a million short ones, a call for each takes longer. @returns the end */
  private putMembers<Row extends number>(
    target: Buffer,
    at: number,
    texts: RowTexts<Row>,
    row: Row,
    members: readonly Buffer[],
  ): number {
    const { filesUrl } = this;
    const source = texts.chunkOf(row);
    let from = texts.startOf(row);
    let end = at;
    for (const name of members) {
      for (let i = 0; i < name.length; i++) target[end++] = name[i];
      for (let byte = source[from++]; byte !== 0; byte = source[from++]) {
        if (byte !== 1) target[end++] = byte;
        else for (let i = 0; i < filesUrl.length; i++) target[end++] = filesUrl[i];
      }
    }
    return end;
  }
}
