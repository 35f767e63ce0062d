/**
 * The examples on the pages: names from the catalogue that is served, and what the API answers to calls with
 * them. Pages are made once, with a placeholder such as `{{game}}` for each name and `{{GET /stats}}` for each
 * response; these are filled in for each generation.
 */
import type { Body, Game } from '../../client/contract-types.ts';
import { encodeValue } from '../../lib/pages/call-samples.ts';
import { html } from '../../lib/pages/html.ts';
import { makeMatchRoute } from '../../proxy/api/routes/match-route.ts';
import { splitTarget } from '../../proxy/http/request.ts';
import type { Generation } from '../../proxy/snapshot/generation.ts';

/** The examples of the contract, by their placeholders. Pages show them before the first generation. */
const CONTRACT_EXAMPLES = {
  platform: 'snes',
  platformName: 'Super Nintendo Entertainment System',
  game: 'chrono-trigger',
  title: 'Chrono Trigger',
  /** The platform and slug of another game. */
  otherGame: 'ds/chrono-trigger',
  gameIds: '1001,1156',
  cover: '50001',
  coverIds: '50001,50219',
  /** Letters, digits and spaces: it becomes a part of programs. */
  query: 'chrono',
  files: 'Chrono Trigger (USA).sfc/secret of mana (E) [!].zip',
  snapshot: '000042-5d1c0f9a7b3e',
};
export type Examples = Readonly<Record<keyof typeof CONTRACT_EXAMPLES, string>>;

/** An example of the contract as a placeholder; any other text unchanged. */
export function placeholderFor(example: string): string {
  const [name] = Object.entries(CONTRACT_EXAMPLES).find(([, value]) => value === example) ?? [];
  return name === undefined ? example : `{{${name}}}`;
}

/** How many of the games with the most covers are considered. */
const CANDIDATES = 20;

/**
 * The examples for a generation: of the games with the most covers, the first that has a front and a title
 * that can be typed on every keyboard. The same generation always has the same examples.
 */
export function chooseExamples(generation: Generation | undefined): Examples {
  if (generation === undefined) return CONTRACT_EXAMPLES;
  const most = `sort=relevance&include=cover,covers&per_page=${CANDIDATES}`;
  const [games] = [`/search?has_cover=true&${most}`, `/search?${most}`]
    .map((target) => list(generation, target))
    .filter(({ length }) => length > 0);
  const snapshot = generation.id;
  if (games === undefined) return { ...CONTRACT_EXAMPLES, snapshot };
  const game = games.find(({ title }) => /[a-z]{4}/i.test(title)) ?? games[0];
  const other = games.find(({ id }) => id !== game.id) ?? game;
  const { platform, slug, title } = game;
  const neighbours = list(generation, `/platforms/${platform.slug}/games?per_page=2`);
  const files = [game, ...neighbours.filter(({ id }) => id !== game.id).slice(0, 1)].map(fileOf);
  const query = wordsOf(title).slice(0, 3).join(' ').slice(0, 50) || 'a';
  const covers = [game, other].flatMap((each) => each.cover ?? each.covers?.[0] ?? []);
  const coverIds = [...new Set(covers.map(({ id }) => String(id)))];
  return {
    platform: platform.slug,
    platformName: platform.name,
    game: slug,
    title,
    otherGame: `${other.platform.slug}/${other.slug}`,
    gameIds: [...new Set([game.id, other.id])].join(','),
    cover: coverIds[0] ?? CONTRACT_EXAMPLES.cover,
    coverIds: coverIds.join(',') || CONTRACT_EXAMPLES.coverIds,
    query,
    files: files.join('/'),
    snapshot,
  };
}

/** The words of a title as people type them. */
function wordsOf(title: string): readonly string[] {
  const text = title.toLowerCase().replaceAll(/['’]/g, '');
  return text.match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

/** The name of a file as collections write it: without the characters that file systems refuse. */
function fileOf({ title }: Game): string {
  return `${title.replaceAll(/\s*[\\/:*?"<>|]+\s*/g, ' ').trim()} (USA).zip`;
}

function list(generation: Generation, target: string): readonly Game[] {
  return parseRecords<Body<'/search'>>(readApi(generation, target) ?? '{"data":[]}').data;
}

/** In a shown response: how many items of a list, and how many characters of a text. */
const MOST_ITEMS = 2;
const MOST_CHARACTERS = 120;

/**
 * Fills in the placeholders of a page. In an address, which is behind "=" or where the placeholder itself was
 * percent-encoded, a value is percent-encoded; elsewhere it is text.
 */
export function fillIn(
  page: string,
  examples: Examples,
  generation: Generation | undefined,
): string {
  const value = (name: string) => examples[name as keyof Examples];
  return page
    .replaceAll(/%7B%7B(\w+)%7D%7D|(?<==)\{\{(\w+)\}\}/g, (_, ...names) =>
      encodeValue(value(names[0] ?? names[1])),
    )
    .replaceAll(/\{\{(\w+)\}\}/g, (unknown, name) =>
      name in examples ? textOf(value(name)) : unknown,
    )
    .replaceAll(/\{\{GET (\S+?)\}\}/g, (_, target) =>
      textOf(responseTo(target.replaceAll('&amp;', '&'), generation)),
    );
}

/** Braces are escaped as well, so that no title is mistaken for a placeholder. */
function textOf(value: string): string {
  return html`${value}`.toString().replaceAll('{', '&#123;');
}

/** What the API answers, with less of each list and text. */
function responseTo(target: string, generation: Generation | undefined): string {
  if (generation === undefined) return '{ "error": "No snapshot yet" }';
  const found =
    target === '/snapshot'
      ? generation.manifest
      : parseRecords(readApi(generation, target) ?? '{"error":"Not found"}');
  const shorten = (_: string, value: unknown) => {
    if (typeof value === 'string' && value.length > MOST_CHARACTERS) {
      return `${value.slice(0, MOST_CHARACTERS)}…`;
    }
    if (!Array.isArray(value) || value.length <= MOST_ITEMS + 1) return value;
    return [...value.slice(0, MOST_ITEMS), `… ${value.length - MOST_ITEMS} more`];
  };
  return JSON.stringify(found, shorten, 2);
}

const matchRoute = makeMatchRoute('', () => Promise.reject(new Error('No page shows changes.')));

/**
 * What the API answers, without a key and without being counted: for pages that are made once for each
 * generation, and never for a visitor.
 * @param target the path after the base, with its query
 * @returns undefined if the generation does not have what the target names
 * @throws ParameterError
 */
function readApi(generation: Generation, target: string) {
  const [path, query] = splitTarget(target);
  const found = matchRoute(path)?.prepare(query)(generation);
  if (found === undefined || found instanceof Promise) return undefined;
  return found.identity.body.toString();
}

/** An id of so many digits that a double may not hold it. In a text, the quotes would be escaped. */
const LONG_ID = /"id":(\d{16,})/g;

/** Parses a body of the API. Pages only show ids: one with so many digits becomes a text. */
export function parseRecords<T>(text: string): T {
  return JSON.parse(text.replace(LONG_ID, '"id":"$1"'));
}
