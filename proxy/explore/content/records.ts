/** The records of the API, as the pages read them. */

/** A whole number; from 16 digits on, where a double may not be exact, a text of its digits. */
export type Id = number | string;

export interface Game {
  readonly slug: string;
  readonly title: string;
  readonly release_year: number | null;
  readonly description: string | null;
  readonly genres: string | null;
  readonly developer: string | null;
  readonly publisher: string | null;
  readonly cover_count: number;
  readonly platform: Platform;
  /** The best cover, in the result of a search. */
  readonly cover?: Cover | null;
  /** All covers, on the page of a game. */
  readonly covers?: readonly Cover[];
}

export interface Platform {
  readonly slug: string;
  readonly name: string;
}

export interface Cover {
  readonly id: Id;
  readonly region: string | null;
  readonly type: string | null;
  readonly approved_at: string | null;
  readonly game: { readonly slug: string; readonly title: string; readonly platform: Platform };
  readonly files: readonly CoverFile[];
}

export interface CoverFile {
  readonly variant: string | null;
  readonly mime_type: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly size_bytes: number | null;
  readonly url: string;
}

export interface GamePage {
  readonly data: readonly Game[];
  readonly page: number;
  readonly total: number;
  readonly total_pages: number;
}

/** An id of so many digits that a double may not hold it. Inside a text, the quotes would be escaped. */
const LONG_ID = /"id":(\d{16,})/g;

/** Parses a body of the API. */
export function parseRecords<T>(text: string): T {
  return JSON.parse(text.replace(LONG_ID, '"id":"$1"'));
}
