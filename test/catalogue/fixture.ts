/**
 * The golden fixtures: a tiny catalogue with one row of every kind that a generation can hold, and
 * the functions that make the folders under `test/fixtures/` from it. The same rows give the same
 * bytes.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runGenerator } from '#cli/generate.ts';
import { type Catalogue, loadCatalogue } from '#demo/catalogue/load.ts';
import { runCommand } from '#demo/programs.ts';
import type { Row } from '#lib/database/database.ts';
import { openDatabase } from '#lib/database/open.ts';
import { hashKey } from '#lib/format/api-key.ts';
import {
  CURRENT,
  LOCK_FILE,
  MANIFEST,
  REPORT,
  RESERVE_FILE,
  STATUS_FILE,
} from '#lib/format/layout.ts';
import { encodeManifest } from '#lib/format/manifest.ts';
import { statusFile } from '#lib/format/status-file.ts';

/** The only approved key of the fixtures. It is public. */
export const FIXTURE_KEY = 'cck_TestFixtureNotASecretTestFixture1EvauM';

/** The environment in which the fixtures are generated, without the database and the folder. */
const FIXTURE_SETTINGS = {
  SITE_URL: 'https://covers.example',
  SITE_LANGUAGE: 'en',
  FILES_URL: 'https://files.covers.example',
};

const HUGE = '9223372036854775807';

/** Every row of the fixtures' catalogue, without its keys. */
export function fixtureCatalogue(): Catalogue {
  return {
    platforms: [
      [1, 'snes', 'Super Nintendo Entertainment System'],
      [2, 'famicom', 'Family Computer'],
      [3, 'virtual-boy', 'Virtual Boy'],
    ],
    games: [
      [11, 1, 'chrono-trigger', 'Chrono Trigger', 1995, null, 'RPG', 'Square', 'Square'],
      [12, 1, 'f-zero', 'F-Zero', 1990, null, 'Racing', 'Nintendo EAD', 'Nintendo'],
      [13, 1, 'final-fantasy-vi', 'Final Fantasy VI', 1994, null, 'RPG', 'Square', 'Square'],
      [14, 1, 'super-metroid', 'Super Metroid', 1994, 'A hunter\n"returns".', null, null, null],
      [15, 1, 'yoshis-island', 'Yoshi’s Island', 1995, '', 'Platformer', null, 'Nintendo'],
      // Titles with another variant than their plain words, and one with a word that is repeated.
      [16, 1, 'joe-and-mac', 'Joe & Mac', 1991, null, 'Platformer', 'Data East', 'Data East'],
      [17, 1, 'evo', 'E.V.O.: Search for Eden', 1993, null, 'RPG', 'Almanic', 'Enix'],
      [18, 1, 'c-plus-plus-quest', 'C++ Quest', null, null, 'Invented', 'Nobody', null],
      [19, 1, 'go-go-ackman', 'Go Go Ackman', 1994, null, 'Platformer', 'Aspect', 'Banpresto'],
      [21, 2, 'pokemon-1', 'Pokémon 1', null, null, 'Invented, RPG', 'Nobody', null],
      [22, 2, 'pokemon-10', 'Pokémon 10', null, null, 'Invented, RPG', 'Nobody', null],
      [23, 2, 'pokemon-2', 'Pokémon 2', null, null, 'Invented, RPG', 'Nobody', null],
      // Not in the Latin script: the words of the slug are a variant, too.
      [24, 2, 'hoshi-wo-miru-hito', 'ほしをみるひと', 1987, null, 'RPG', null, 'ホット・ビィ'],
      [HUGE, 2, 'gegege', 'ゲゲゲの鬼太郎 2', 1987, null, 'Action', null, 'バンダイ'],
      // Left out: there is no such platform.
      [99, 9, 'orphan', 'Orphan', null, null, null, null, null],
    ],
    covers: [
      [501, 11, 'USA', 'front', 'approved', '2021-08-14 18:02:27'],
      [502, 11, 'Japan', 'front', 'approved', '2019-03-02 10:15:00'],
      [503, 11, 'Japan', 'back', 'approved', '2019-03-02 10:15:00'],
      [504, 11, 'Europe', 'front', 'pending', null],
      [505, 11, null, null, 'approved', null],
      [506, 12, 'usa', 'front', 'approved', '2026-10-30 07:59:59'],
      [507, 15, 'USA', 'front', 'rejected', '2020-01-01 00:00:00'],
      [508, 99, 'USA', 'front', 'approved', '2020-01-01 00:00:00'],
      [HUGE, HUGE, 'Japan', 'front', 'approved', '2022-12-31 23:59:59'],
    ],
    coverFiles: [
      [901, 501, 'original', 'image/png', 1024, 768, '4294967296', 'snes/chrono trigger #1.png'],
      [902, 501, 'thumb', 'image/webp', 256, 192, 9876, 'snes/chrono-trigger-1.webp'],
      [903, 502, null, null, null, null, null, 'https://images.example.org/chrono.jpg'],
      [904, 504, 'original', null, null, null, null, 'hidden.png'],
      [HUGE, HUGE, 'original', 'image/png', 640, 480, 1234, 'famicom/鬼太郎.png'],
    ],
    gameTitles: [
      [24, 'Stargazers'],
      [16, 'Joe & Mac: Caveman Ninja'],
      [HUGE, '妖怪大魔境'],
      // Left out with its game.
      [99, 'Alone'],
    ],
    accounts: [],
  };
}

/** id, hash, state and limit. A key that was never revealed has no hash and is not exported. */
const KEY_ROWS: readonly Row[] = [
  [1, hashKey(FIXTURE_KEY), 'approved', 1_000_000],
  [2, hashKey('revoked'), 'revoked', 120],
  [3, hashKey('rejected'), 'rejected', 120],
  [4, null, 'approved', 120],
];

/**
 * Makes the snapshots folder of the fixtures with the real generator.
 * @param snapshotsDir a folder that does not exist yet
 */
export async function makeFixture(snapshotsDir: string): Promise<void> {
  const work = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-fixture-'));
  try {
    const url = `sqlite:${path.join(work, 'catalogue.db')}`;
    const database = await openDatabase(url, { create: true });
    await loadCatalogue(database, fixtureCatalogue());
    for (const row of KEY_ROWS) {
      await database.run(
        "INSERT INTO api_keys (id, key_hash, state, limit_per_minute, purpose, website_url, requested_at) VALUES (?, ?, ?, ?, 'fixture', '', '2026-01-01 00:00:00')",
        row,
      );
    }
    await database.close();
    // --force: in so few rows, one row that is left out is more than 1 %.
    const variables = { ...FIXTURE_SETTINGS, DATABASE_URL: url, SNAPSHOTS_DIR: snapshotsDir };
    await runCommand(runGenerator, ['--force'], variables);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
  // Removes what depends on the run or on Node, not on the rows.
  const manifestFile = path.join(snapshotsDir, CURRENT, MANIFEST);
  const manifest = JSON.parse(readFileSync(manifestFile, 'utf8'));
  const { icu_version: _icu, unicode_version: _unicode, ...rest } = manifest;
  const when = '2026-11-01T00:00:00Z';
  const files = rest.files.map((entry: object) => ({ ...entry, changed_at: when }));
  writeFileSync(manifestFile, encodeManifest({ ...rest, files }));
  for (const name of [LOCK_FILE, `${LOCK_FILE}.holder`, REPORT, RESERVE_FILE]) {
    rmSync(path.join(snapshotsDir, name));
  }
  const file = path.join(snapshotsDir, STATUS_FILE);
  const status = statusFile.parse(readFileSync(file, 'utf8'));
  writeFileSync(file, statusFile.encode({ ...status, finished_at: when, current_as_of: when }));
}
