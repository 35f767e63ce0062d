/** A catalogue as rows, which tests and benchmarks load into a database. */
import type { Row } from '../../database/database.ts';

/** Rows in the order of the tables' columns (database/schema.ts, keys/tables/schema.ts); each list can be read repeatedly. */
export interface Catalogue {
  readonly platforms: Iterable<Row>;
  readonly games: Iterable<Row>;
  readonly covers: Iterable<Row>;
  readonly coverFiles: Iterable<Row>;
  /** Without this list, the database has no table of alternative titles. */
  readonly gameTitles?: Iterable<Row>;
  readonly accounts: Iterable<Row>;
}
