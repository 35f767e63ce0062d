/** Loads a catalogue whose rows have `updated_at`, with an index, as OPERATIONS.md recommends it. */
import type { Database } from '../../database/database.ts';
import { TIMED_TABLES } from '../../database/schema.ts';
import type { Catalogue } from '../catalogue/catalogue.ts';
import { loadCatalogue } from '../catalogue/load.ts';

export async function loadTimedCatalogue(database: Database, catalogue: Catalogue): Promise<void> {
  await loadCatalogue(database, catalogue);
  for (const name of TIMED_TABLES) {
    await database.run(
      `ALTER TABLE ${name} ADD COLUMN updated_at DATETIME NULL, ADD KEY (updated_at)`,
    );
    await database.run(
      `UPDATE ${name} SET updated_at = '2026-01-01 00:00:00' + INTERVAL (id % 20000000) SECOND`,
    );
    await database.run(`ANALYZE TABLE ${name}`);
  }
}
