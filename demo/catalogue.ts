/** The sample catalogue of a demo, and an API key for it. */
import { openDatabase } from '../database/open.ts';
import { runKeys } from '../keys/cli/run-keys.ts';
import { createKeysTables } from '../keys/tables/schema.ts';
import { loadCatalogue } from './catalogue/load.ts';
import { sampleCatalogue } from './catalogue/sample.ts';
import { type DrawnCovers, drawCovers } from './covers.ts';

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
  return manageKeys(['issue', '--limit', String(limit), '--note', note], environment);
}

/**
 * Does what `cover-catalogue keys` does, without the start of another program.
 * @returns what it prints on stdout
 * @throws Error with its messages if it fails
 */
export async function manageKeys(
  words: readonly string[],
  environment: NodeJS.ProcessEnv,
): Promise<string> {
  let printed = '';
  let messages = '';
  const code = await runKeys({
    words,
    variables: () => environment,
    stdout: {
      write(text) {
        printed += text;
      },
    },
    stderr: {
      write(text) {
        messages += text;
      },
    },
  });
  if (code !== 0) throw new Error(`cover-catalogue keys ended with ${code}: ${messages.trim()}`);
  return printed.trim();
}
