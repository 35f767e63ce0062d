/**
 * Prints why `/match` has each of its rules: for lists of names whose games are known, how many only this rule finds,
 * and how many it makes wrong. A rule is a pattern or a set of words with a name of its own in find/match/.
 *
 *     node test/soak/find/match/reasons.ts NAMES.tsv…
 *
 * A list has a line for each name: its class, platform, name, and the slugs that are right, separated by "|"; none
 * or "-" if there is no such game. The real catalogue must be on this machine. Each rule is left out of a copy of the
 * code, with which all names are matched again: that takes some seconds.
 */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { NameMatch } from '#find/match/find.ts';
import type { GameFacts } from '#find/match/find-matches.ts';
import type { MatchIndex } from '#find/match/open.ts';
import { makePlatformNames } from '#find/names/platform-names.ts';
import { namesOfRegion } from '#find/names/regions.ts';
import { foldCase } from '#find/text/words.ts';
import { getOrAdd } from '#lib/program/get-or-add.ts';
import { takeAll } from '#proxy/api/routes/route.ts';
import { sharedCatalogue } from '#test/catalogue/shared.ts';

const ROOT = path.join(import.meta.dirname, '../../../..');
const FILES = ['read-name', 'guess-names', 'tags', 'forms', 'find-matches', 'find-parts', 'find'];
const RULE =
  /^(?:export )?const ([A-Z_]+)(?:: [^=]+)? =\s+(\/[\s\S]*?|new RegExp\([\s\S]*?\)|new Set\([\s\S]*?\));$/gm;

type Verdict = 'right' | 'wrong' | 'none';

const { positionals } = parseArgs({ allowPositionals: true });
const names = positionals.flatMap((list) =>
  readFileSync(list, 'utf8')
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.split('\t'))
    .map(([, platform = '', name = '', right = '']) => ({
      platform,
      name,
      right: right.split('|').map((slug) => (slug === '-' ? '' : slug)),
    })),
);
const catalogue = sharedCatalogue();
if (catalogue === undefined) throw new Error('The real catalogue is not on this machine.');
const platforms = [...catalogue.platforms].map(([id, slug, name]) => ({
  id,
  slug: String(slug),
  name: String(name),
}));
const byPlatform = Map.groupBy(catalogue.games, ([, platform]) => platform);
const games = platforms.flatMap(({ id }) => byPlatform.get(id) ?? []);
const firstGame = new Uint32Array(platforms.length + 1);
platforms.forEach(({ id }, at) => {
  firstGame[at + 1] = firstGame[at] + (byPlatform.get(id)?.length ?? 0);
});
const slug = (game: number) => String(games[game][2]);
const title = (game: number) => String(games[game][3]);
/** For each game, the regions of its fronts. */
const fronts = new Map<unknown, string[]>();
for (const [, game, region, type, status] of catalogue.covers)
  if (type === 'front' && status === 'approved')
    getOrAdd(fronts, game, () => []).push(foldCase(String(region)));
const facts: Omit<GameFacts, 'frontRank'> = {
  titles: (game) => [title(game)],
  slug,
  releaseYear: (game) => games[game][4] as number | null,
  companies: (game) =>
    games[game]
      .slice(7, 9)
      .filter((name) => name !== null)
      .map(String),
};
const platformNames = makePlatformNames(platforms);

/** Makes the index of the catalogue by the code in a folder. */
async function makeIndex(root: string): Promise<MatchIndex> {
  const { writeTitles } = await import(`${root}/find/write.ts`);
  const titled = { gameOfRank: Uint32Array.from(games.keys()), firstGame, title, slug };
  const written = writeTitles({ ...titled, otherTitles: () => [] }, undefined, { match: true });
  return written.match({ ofGames: new Map(), ofPlatforms: new Map() });
}

/** Matches all names by the code in a folder. */
async function verdicts(root: string, index: MatchIndex): Promise<Verdict[]> {
  const { makeMatcher } = await import(`${root}/find/match/find.ts`);
  const known = {
    platform: (game: number) => firstGame.findIndex((first) => first > game) - 1,
    forRegions(regions: readonly string[]): GameFacts {
      const wanted = regions.flatMap(namesOfRegion);
      const frontRank = (game: number) => {
        const regionsOfFronts = fronts.get(games[game][0]);
        if (regionsOfFronts === undefined) return 2;
        return regionsOfFronts.some((region) => wanted.includes(region)) ? 0 : 1;
      };
      return { ...facts, frontRank };
    },
  };
  return names.map(({ platform, name, right }) => {
    const numbers = platformNames.find(platform);
    const steps = makeMatcher(index, numbers, known, platformNames).ofName(name);
    const { found } = takeAll<NameMatch>(steps).match;
    const answer = found === undefined ? '' : slug(found.game);
    return right.includes(answer) ? 'right' : answer === '' ? 'none' : 'wrong';
  });
}

const index = await makeIndex(ROOT);
const all = await verdicts(ROOT, index);
console.log('| rule | only it finds | it makes wrong |\n| --- | --- | --- |');
for (const file of FILES) {
  const source = readFileSync(path.join(ROOT, `find/match/${file}.ts`), 'utf8');
  for (const [whole, rule, value] of source.matchAll(RULE)) {
    const dir = mkdtempSync(path.join(tmpdir(), 'reasons-'));
    for (const folder of ['find', 'lib', 'package.json'])
      cpSync(path.join(ROOT, folder), path.join(dir, folder), { recursive: true });
    symlinkSync(path.join(ROOT, 'node_modules'), path.join(dir, 'node_modules'));
    const nothing = value.startsWith('new Set') ? 'new Set()' : '/(?!)/';
    const without = source.replace(whole, () => whole.replace(value, () => nothing));
    writeFileSync(path.join(dir, `find/match/${file}.ts`), without);
    const others = await verdicts(dir, file === 'forms' ? await makeIndex(dir) : index);
    rmSync(dir, { recursive: true });
    const count = (of: Verdict) =>
      names.filter((_, at) => all[at] === of && others[at] !== of).length;
    console.log(`| \`${file}\` ${rule} | ${count('right')} | ${count('wrong')} |`);
  }
}
