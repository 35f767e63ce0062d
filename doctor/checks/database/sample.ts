/**
 * Sample records as they would be served: three games, each with a cover. The generator exports only
 * these rows to a temporary folder, and the code of the proxy reads them from there, so the records are
 * exactly those of the API. The folder is removed at the end.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { showBody } from '../../../commands/show.ts';
import type { Database, Value } from '../../../database/database.ts';
import { generate } from '../../../generator/generate.ts';
import type { Conditions } from '../../../generator/read/read-table.ts';
import { warningText } from '../../../generator/report/report.ts';
import { type Check, requireValue } from '../../findings/check.ts';
import { parseExactly } from '../../findings/exact-json.ts';

const GAMES = 3;
/** Further covers of these games are left out, so that the check is quick on any catalogue. */
const MOST_COVERS = 50;
const SILENT = { advance() {}, step() {}, warn() {}, end() {} };

export const sample: Check = {
  name: 'sample records',
  programs: ['schedule'],
  async run(scene, { ok, warn, skip }) {
    const database = await scene.database();
    const settings = {
      site_url: requireValue(scene, 'SITE_URL'),
      site_language: requireValue(scene, 'SITE_LANGUAGE'),
      files_url: requireValue(scene, 'FILES_URL'),
    };
    const { games, conditions } = await chooseRows(database);
    if (games.length === 0) {
      skip('The table games has no rows.', 'Add games, or fix the view.');
      return;
    }
    const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-doctor-'));
    const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    process.once('exit', remove);
    try {
      const options = { snapshotsDir: folder, settings, warnings: [], conditions };
      const run = { ...options, isDryRun: false, isForced: true };
      const { id = '', leftOut, report } = await generate(database, run, SILENT);
      for (const line of leftOut) {
        warn(
          `Of the sample, rows would be left out: ${line}.`,
          'Correct the rows or the view. After a run, report.json lists all of them.',
        );
      }
      for (const warning of report.warnings) {
        warn(
          `${warningText(warning)}.`,
          'See the table of warnings under "Publishing" in OPERATIONS.md.',
        );
      }
      const body = await showBody(folder, id, `/games?ids=${games.join(',')}&include=cover`);
      const { data } = Object(parseExactly(body.toString('utf8'))) as { data?: unknown };
      ok('The API would send these records. Compare them with your site:', data);
    } finally {
      remove();
      process.removeListener('exit', remove);
    }
  },
};

/** Games with an approved cover if there are any, and the rows that belong to them. */
async function chooseRows(
  database: Database,
): Promise<{ games: string[]; conditions: Conditions }> {
  const covered = await database.rows(
    `SELECT DISTINCT game_id FROM covers WHERE status = 'approved' LIMIT ${MOST_COVERS}`,
  );
  const candidates = idsOf(covered.map(([id]) => id));
  const select = 'SELECT id, platform_id FROM games';
  const found = await database.rows(`${select} WHERE ${among('id', candidates)} LIMIT ${GAMES}`);
  const rows = found.length > 0 ? found : await database.rows(`${select} LIMIT ${GAMES}`);
  const games = idsOf(rows.map(([id]) => id));
  const ofGames = among('game_id', games);
  const covers = idsOf(
    (await database.rows(`SELECT id FROM covers WHERE ${ofGames} LIMIT ${MOST_COVERS}`)).map(
      ([id]) => id,
    ),
  );
  return {
    games,
    conditions: {
      platforms: among('id', idsOf(rows.map(([, platform]) => platform))),
      games: among('id', games),
      covers: among('id', covers),
      cover_files: among('cover_id', covers),
      game_titles: ofGames,
    },
  };
}

/** The values that are ids; others cannot be part of a statement. */
function idsOf(values: readonly (Value | undefined)[]): string[] {
  return [...new Set(values.map(String))].filter((id) => /^\d+$/.test(id));
}

function among(column: string, ids: readonly string[]): string {
  return ids.length === 0 ? '1 = 0' : `${column} IN (${ids.join(', ')})`;
}
