/**
 * The columns that a run reads, all of those in the schema, and the members of records that are their values, in
 * the order of the contract. The statements, the positions in a row, and the JSON follow from these lists.
 */
import { CATALOGUE_TABLES } from '../../lib/database/schema.ts';
import { columnNames } from '../../lib/database/tables.ts';

type TableOf = typeof CATALOGUE_TABLES;
type ColumnOf<Table extends keyof TableOf> = keyof TableOf[Table]['columns'] & string;

/** What a record has of a value: a text, which may be a name, prose, or a code; a whole number; an id, year or address, which has its own check. */
type Form = 'name' | 'prose' | 'code' | 'count' | 'id' | 'year' | 'url';

export interface RecordMember {
  readonly name: string;
  readonly form: Form;
  /** Of its column, among those that are read. */
  readonly position: number;
}

const GAME_FORMS = {
  id: 'id',
  slug: 'code',
  title: 'name',
  release_year: 'year',
  description: 'prose',
  genres: 'name',
  developer: 'name',
  publisher: 'name',
} as const satisfies Readonly<Record<Exclude<ColumnOf<'games'>, 'platform_id'>, Form>>;

const FILE_FORMS = {
  id: 'id',
  variant: 'code',
  mime_type: 'code',
  width: 'count',
  height: 'count',
  size_bytes: 'count',
  path: 'url',
} as const satisfies Readonly<Record<Exclude<ColumnOf<'cover_files'>, 'cover_id'>, Form>>;

/** The position of each column in a row. */
export const PLATFORM = positionsOf('platforms');
export const GAME = positionsOf('games');
export const COVER = positionsOf('covers');
export const FILE = positionsOf('cover_files');

export const GAME_MEMBERS = membersOf(GAME_FORMS, GAME);
export const FILE_MEMBERS = membersOf(FILE_FORMS, FILE);

function positionsOf<Table extends keyof TableOf>(
  table: Table,
): Readonly<Record<ColumnOf<Table>, number>> {
  const names = columnNames(CATALOGUE_TABLES[table]).map((name, position) => [name, position]);
  return Object.fromEntries(names);
}

function membersOf<Column extends string>(
  forms: Readonly<Record<Column, Form>>,
  positions: Readonly<Record<NoInfer<Column>, number>>,
): readonly RecordMember[] {
  return (Object.entries(forms) as [Column, Form][]).map(([column, form]) => ({
    name: form === 'url' ? 'url' : column,
    form,
    position: positions[column],
  }));
}
