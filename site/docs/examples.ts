/**
 * What the pages show of a generation: names as examples, and what the API answers to calls with them. Pages that
 * show any are made once for each generation.
 */
import type { Body, Game, Stats } from '../../client/contract-types.ts';
import { makeFindRoute } from '../../proxy/api/routes/find-route.ts';
import { type Route, takeAll } from '../../proxy/api/routes/route.ts';
import { splitTarget } from '../../proxy/http/request.ts';
import type { Generation } from '../../proxy/snapshot/generation.ts';

/** The examples of the contract, by their names in the guides. Pages show them before the first generation. */
const CONTRACT_EXAMPLES = {
  platform: 'snes',
  platformName: 'Super Nintendo Entertainment System',
  game: 'chrono-trigger',
  title: 'Chrono Trigger',
  gameIds: '1001,1156',
  cover: '50001',
  coverIds: '50001,50219',
  /** Letters, digits and spaces: it becomes a part of programs. */
  query: 'chrono',
  files: 'Chrono Trigger (USA).sfc/secret of mana (E) [!].zip',
  snapshot: '000042-5d1c0f9a7b3e',
  /** An earlier snapshot, or the same if there is none. */
  since: '000041-8b1a9953c461',
  /** Regions. Letters, digits and spaces: they become a part of programs. */
  prefer: 'USA,Europe',
};
export type Examples = Readonly<Record<keyof typeof CONTRACT_EXAMPLES, string>>;

/** What the pages show of one generation. */
export interface Shown {
  /** Undefined before the first one. It stays open until the page is made. */
  readonly generation: Generation | undefined;
  readonly examples: Examples;
  /**
   * What the API answers, with less of each list and text.
   * @param target the path after the base, with its query
   */
  readonly responseTo: (target: string) => Promise<string>;
}

export function showGeneration(generation: Generation | undefined, examples: Examples): Shown {
  const responseTo = (target: string) => findResponse(target, generation);
  return { generation, examples, responseTo };
}

/** The name of an example of the contract, a list with commas; undefined for any other value. */
export function exampleNameOf(example: unknown): keyof Examples | undefined {
  const text = String(example);
  const [name] = Object.entries(CONTRACT_EXAMPLES).find(([, value]) => value === text) ?? [];
  return name as keyof Examples | undefined;
}

/** What stands for an example of the contract; any other text unchanged. */
export function exampleFor(example: string, examples: Examples): string {
  const name = exampleNameOf(example);
  return name === undefined ? example : examples[name];
}

/** How many of the games with the most covers are considered. */
const CANDIDATES = 20;
/** With a longer path, the lines of code become longer than their boxes. */
const LONGEST_PATH = 19;

/**
 * The examples for a generation: of the games with the most covers, the first that has a front, a title that
 * can be typed on every keyboard, and a short path. The same generation always has the same examples.
 */
export function chooseExamples(generation: Generation | undefined): Examples {
  if (generation === undefined) return CONTRACT_EXAMPLES;
  const { id: snapshot } = generation;
  const since = generation.recentIds[0] ?? snapshot;
  const most = `sort=relevance&include=cover,covers&per_page=${CANDIDATES}`;
  const [games] = [`/search?has_cover=true&${most}`, `/search?${most}`]
    .map((target) => list(generation, target))
    .filter(({ length }) => length > 0);
  if (games === undefined) return { ...CONTRACT_EXAMPLES, snapshot, since };
  const typed = games.filter(({ title }) => /[a-z]{4}/i.test(title));
  const isShort = ({ platform, slug }: Game) => platform.slug.length + slug.length < LONGEST_PATH;
  const game = typed.find(isShort) ?? typed[0] ?? games[0];
  const other = games.find(({ id }) => id !== game.id) ?? game;
  const { platform, slug, title } = game;
  const neighbours = list(generation, `/platforms/${platform.slug}/games?per_page=2`);
  const files = [game, ...neighbours.filter(({ id }) => id !== game.id).slice(0, 1)].map(fileOf);
  const words = wordsOf(title).slice(0, 3).join(' ');
  const query = /^.{1,30}(?= |$)/u.exec(words)?.[0] ?? (words.slice(0, 30) || 'a');
  const covers = [game, other].flatMap((each) => each.cover ?? each.covers?.[0] ?? []);
  const coverIds = [...new Set(covers.map(({ id }) => String(id)))];
  return {
    platform: platform.slug,
    platformName: platform.name,
    game: slug,
    title,
    gameIds: [...new Set([game.id, other.id])].join(','),
    cover: coverIds[0] ?? CONTRACT_EXAMPLES.cover,
    coverIds: coverIds.join(',') || CONTRACT_EXAMPLES.coverIds,
    query,
    files: files.join('/'),
    snapshot,
    since,
    prefer: regionsOf(generation) || CONTRACT_EXAMPLES.prefer,
  };
}

/** The two regions with the most covers. */
function regionsOf({ stats }: Generation): string {
  const { covers_by_region }: Stats = JSON.parse(stats.bytes.toString());
  const chosen: string[] = [];
  for (const { region } of covers_by_region) {
    if (region === null || !/^[\p{L}\p{M}\p{N} -]+$/u.test(region)) continue;
    // "USA" and "usa" are one region in a search.
    if (!chosen.some((each) => each.toLowerCase() === region.toLowerCase())) chosen.push(region);
  }
  return chosen.slice(0, 2).join(',');
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
  const found = bodyOf(routeTo(target)?.(generation));
  return parseRecords<Body<'/search'>>(found ?? '{"data":[]}').data;
}

/** Fills in each name such as `{{game}}` in a text. */
export function fillIn(text: string, examples: Examples): string {
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => {
    const value = examples[name as keyof Examples];
    if (value === undefined) throw new Error(`There is no example with the name "${name}".`);
    return value;
  });
}

/** An object or a list in a shown response that has no other in it. */
const SMALL = /^(.*[{[])\n([^{}[\]]+)\n *([}\]],?)$/gm;
const LONGEST_LINE = 60;
/** A longer line, if its value is not an address or a hash. */
const LONG_LINE = /^(?=.{61})(?! *"\w+": "(?:https?:|[0-9a-f]{64}"))(.{57}).*?(",?)$/gmu;

async function findResponse(target: string, generation: Generation | undefined): Promise<string> {
  if (generation === undefined) return '{ "error": "No snapshot yet" }';
  const found =
    target === '/snapshot'
      ? generation.manifest
      : parseRecords(bodyOf(routeTo(target)?.(generation)) ?? '{"error":"Not found"}');
  const shorten = (_: string, value: unknown) => {
    if (!Array.isArray(value) || value.length <= 1) return value;
    return [value[0], `… ${value.length - 1} more`];
  };
  const isFirst = target === `/changes?since=${generation.id}`;
  const note = isFirst ? '\n\n(Empty: this catalogue has no earlier snapshot yet.)' : '';
  // Longer ids than a double can hold were read as texts.
  const joined = (whole: string, start: string, inner: string, end: string) => {
    const line = `${start} ${inner.replaceAll(/\s*\n\s*/g, ' ').trim()} ${end}`;
    return line.length > LONGEST_LINE ? whole : line;
  };
  return JSON.stringify(found, shorten, 2)
    .replace(/("id": )"(\d{16,})"/g, '$1$2')
    .replaceAll(SMALL, joined)
    .replaceAll(LONG_LINE, '$1…$2')
    .concat(note);
}

/**
 * What the API answers, without a key and without being counted: for pages that are made once for each
 * generation, and never for a visitor.
 * @param target the path after the base, with its query
 * @throws ParameterError
 */
function routeTo(target: string) {
  const [path, query] = splitTarget(target);
  return makeFindRoute('')(path)?.prepare(query);
}

/** @returns undefined if the generation does not have what the target names */
function bodyOf(found: ReturnType<ReturnType<Route['prepare']>>): string | undefined {
  if (found === undefined || found === 'sinceGone') return undefined;
  const resource = 'steps' in found ? takeAll(found.steps) : found;
  return resource.identity.body.toString();
}

/** An id with more digits than a double can hold. In a text, the quotes would be escaped. */
const LONG_ID = /"id":(\d{16,})/g;

/** Parses a body of the API. Pages only show ids: such an id becomes a text. */
export function parseRecords<T>(text: string): T {
  return JSON.parse(text.replace(LONG_ID, '"id":"$1"'));
}
