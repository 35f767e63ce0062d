/** The sample catalogue of a demo, and an API key for it. */
import { openDatabase } from '../database/open.ts';
import { createKeysTables } from '../keys/tables/schema.ts';
import { loadCatalogue } from '../test/catalogue/load.ts';
import { sampleCatalogue } from '../test/catalogue/sample.ts';
import { type DrawnCovers, drawCovers } from './covers/draw-covers.ts';
import { runCommand } from './programs.ts';

/**
 * Creates a database with the sample catalogue and without any key.
 * @returns the images of its covers
 */
export async function makeCatalogue(url: string): Promise<DrawnCovers['images']> {
  const { catalogue, images } = drawCovers(sampleCatalogue());
  const database = await openDatabase(url, { create: true });
  try {
    await loadCatalogue(database, catalogue);
    await createKeysTables(database);
  } finally {
    await database.close();
  }
  return images;
}

/**
 * @param environment with DATABASE_URL
 * @param limit requests per minute
 * @returns the raw key
 */
export function issueKey(
  environment: NodeJS.ProcessEnv,
  limit: number,
  note = 'demo',
): Promise<string> {
  return runCommand('keys', ['issue', '--limit', String(limit), '--note', note], environment);
}
