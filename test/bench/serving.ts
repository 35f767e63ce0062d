/**
 * Serving: the product compared with nginx on static files, with fastify on bodies in memory, and with fastify
 * that queries MariaDB at each request. A server has one core, and wrk another one. The main figure is processor
 * time per request, because other programs on the machine disturb it least.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Pool, request } from 'undici';
import {
  type Candidate,
  cell,
  crossRows,
  type Findings,
  failureList,
  lazily,
  measureInTurn,
  medianOf,
  nameOf,
  type Options,
  PRODUCT,
  ratioOf,
  table,
  valuesOf,
} from './figures.ts';
import { type Load, measureLoad } from './load.ts';
import type { Prepared } from './prepare.ts';
import { chooseCores, memoryOf, moveTo } from './processes.ts';
import {
  productStarts,
  type Server,
  type Starts,
  startAlternative,
  startNginx,
} from './servers.ts';

const BASE = '/api/v1';
const NGINX = 'nginx, static files';
const FASTIFY = 'fastify, from memory';
const LIVE = 'fastify, live query';
const MOST_FILES = 100_000;
const MOST_SEARCHES = 10_000;
const NAMES_PER_MATCH = 50;
/** A request line has up to 8,192 bytes. */
const LONGEST_TARGET = 8_000;
/** The product answers this many requests at once while its bodies are written to files. */
const FETCHING = 16;
const WARM_UP_SECONDS = 1;

/** A kind of request. */
interface Work {
  readonly name: string;
  /** Requested in turn, again and again. */
  readonly paths: readonly string[];
  readonly connections: number;
  readonly servers: readonly string[];
}

export async function measureServing(prepared: Prepared, options: Options): Promise<string> {
  const { folder, databaseServer, keys } = prepared;
  const files = path.join(folder, 'files');
  const targets = path.join(folder, 'targets.txt');
  const starts: Starts = {
    ...productStarts(prepared),
    [NGINX]: lazily(() => startNginx(prepared, files)),
    [FASTIFY]: lazily(() => {
      const variables = { BENCH_FILES: files, BENCH_TARGETS: targets };
      return startAlternative(prepared, ['fastify.mjs'], variables);
    }),
    [LIVE]: lazily(async () => {
      moveTo([chooseCores().server], databaseServer.pid);
      const variables = { BENCH_DATABASE: prepared.databaseUrl };
      const server = await startAlternative(prepared, ['fastify.mjs'], variables);
      return { ...server, pids: [...server.pids, databaseServer.pid] };
    }),
  };
  options.report('writing one file per response');
  const product = await starts[PRODUCT]();
  const page = pageOf(prepared);
  const paths = prepared.games.map(({ platform, slug }) => `${BASE}/games/${platform}/${slug}`);
  const wanted = [...paths.slice(0, MOST_FILES), page];
  // Each product writes them, so that all of them have answered the same requests; those of this one stay.
  let written: readonly string[] = [];
  for (const { name } of prepared.products.toReversed()) {
    written = await writeBodies((await starts[name]()).url, keys[0], files, wanted);
  }
  writeFileSync(targets, written.join('\n'));
  const games = written.filter((target) => target !== page);

  const all = Object.keys(starts);
  const live = all.filter((name) => name !== NGINX && name !== FASTIFY);
  const works: Work[] = [
    { name: 'one game', paths: games.slice(0, 1), connections: 64, servers: all },
    { name: 'different games', paths: games, connections: 64, servers: all },
    { name: 'page of 50 games', paths: [page], connections: 64, servers: all },
    // A live search takes so long that more connections would only queue.
    { name: 'different searches', paths: searchesOf(prepared), connections: 8, servers: live },
    {
      name: `match of ${NAMES_PER_MATCH} names`,
      paths: matchesOf(prepared),
      connections: 8,
      servers: prepared.products.map(({ name }) => name),
    },
  ];
  let measured = 0;
  const nextKey = () => keys[measured++ % keys.length];
  const candidates = works.flatMap((work) =>
    work.servers.map((name): Candidate => {
      const measure = measureOf(folder, work, starts[name], product, nextKey, options.seconds);
      return { name: nameOf(work.name, name), measure };
    }),
  );
  const findings = await measureInTurn(candidates, options, { isWarmedUp: true });
  // The other parts may use both cores.
  moveTo(chooseCores().all, databaseServer.pid);
  return describe(works, all, findings);
}

/** The first page of the platform with the most games. */
function pageOf({ games }: Prepared): string {
  const platforms = [...Map.groupBy(games, ({ platform }) => platform)];
  const [[largest]] = platforms.sort(([, a], [, b]) => b.length - a.length);
  return `${BASE}/platforms/${largest}/games?page=1&per_page=50`;
}

/** Searches for a word of a title, or for a word and the beginning of the next one. */
function searchesOf({ games }: Prepared): string[] {
  const searches = new Set<string>();
  for (const { title } of games) {
    const [first, second] = title.toLowerCase().match(/\b[a-z]{4,12}\b/g) ?? [];
    if (first === undefined) continue;
    const isPair = second !== undefined && searches.size % 2 === 0;
    searches.add(`${BASE}/search?q=${first}${isPair ? `+${second.slice(0, 3)}` : ''}`);
    if (searches.size === MOST_SEARCHES) break;
  }
  return [...searches];
}

/** For each platform with enough games, the names of files of some. */
function matchesOf({ games }: Prepared): string[] {
  return [...Map.groupBy(games, ({ platform }) => platform)]
    .filter(([, { length }]) => length >= NAMES_PER_MATCH)
    .map(([platform, some]) => {
      const names = some
        .slice(0, NAMES_PER_MATCH)
        .map(({ title }) => `${title.replaceAll('/', '_')} (USA).zip`);
      return `${BASE}/match?platform=${platform}&names=${names.map(encodeURIComponent).join('/')}`;
    })
    .filter(({ length }) => length <= LONGEST_TARGET);
}

/**
 * Writes the product's bodies to files, named like the addresses without their queries.
 * @returns those that the product has
 */
async function writeBodies(url: string, key: string, folder: string, targets: readonly string[]) {
  const pool = new Pool(url, { connections: FETCHING });
  const headers = { 'x-api-key': key };
  const remaining = targets.values();
  const written = new Set<string>();
  const write = async () => {
    for (const target of remaining) {
      const reply = await pool.request({ method: 'GET', path: target, headers });
      const body = Buffer.from(await reply.body.arrayBuffer());
      if (reply.statusCode !== 200) continue;
      const file = folder + target.split('?', 1)[0];
      mkdirSync(path.dirname(file), { recursive: true });
      writeFileSync(file, body);
      written.add(target);
    }
  };
  await Promise.all(Array.from({ length: FETCHING }, write));
  await pool.close();
  return targets.filter((target) => written.has(target));
}

function measureOf(
  folder: string,
  work: Work,
  start: () => Promise<Server>,
  product: Server,
  nextKey: () => string,
  seconds: number,
): Candidate['measure'] {
  const list = path.join(folder, `${work.name}.txt`);
  writeFileSync(list, `${work.paths.join('\n')}\n`);
  // Each measurement continues the list, so that no address is repeated too soon.
  let first = 0;
  return async (round) => {
    const { url, pids } = await start();
    const key = nextKey();
    if (round === 0) await checkAnswer(work, url, product.url, key);
    const load: Load = {
      ...{ url, key, list, first, connections: work.connections },
      seconds: round === 0 ? WARM_UP_SECONDS : seconds,
    };
    const { requests, ...figures } = await measureLoad(load, pids);
    first += requests;
    return { ...figures, peak: memoryOf(pids, 'VmHWM') };
  };
}

/** @throws Error unless a server sends what the product sends; searches and orders of titles may differ */
async function checkAnswer(work: Work, url: string, wantedUrl: string, key: string) {
  const [found, wanted] = await Promise.all(
    [url, wantedUrl].map(async (origin) => {
      const reply = await request(origin + work.paths[0], { headers: { 'x-api-key': key } });
      const text = await reply.body.text();
      if (reply.statusCode !== 200) throw new Error(`status ${reply.statusCode}: ${text}`);
      return JSON.parse(text);
    }),
  );
  const isEqual = Array.isArray(wanted.data)
    ? found.data.length > 0 && (work.paths.length > 1 || found.total === wanted.total)
    : isDeepStrictEqual(found, wanted);
  if (!isEqual) throw new Error(`${work.paths[0]} is answered differently from the product`);
}

function describe(works: readonly Work[], all: readonly string[], findings: Findings): string {
  const others = all.filter((name) => name !== PRODUCT);
  const names = works.map(({ name }) => name);
  const ratios = crossRows(findings, names, others, (name, product) =>
    cell(ratioOf(findings, product, name, 'cpu')),
  );
  const figures = [...findings.found.keys()].map((name) => {
    const [cpu, ...rest] = ['cpu', 'perSecond', 'p99', 'peak'].map((figure) =>
      cell(medianOf(findings, name, figure)),
    );
    const sorted = valuesOf(findings, name, 'cpu').sort((a, b) => a - b);
    const range = [sorted[0], sorted.at(-1)].map((value = Number.NaN) => cell(value)).join('–');
    return [name, cpu, range, ...rest];
  });
  const head = ['', 'CPU, µs/request', 'lowest–highest', 'requests/s', 'p99, ms', 'peak, MB'];
  return [
    'Processor time per request of the product ÷ that of the others; below 1, the product takes less. It counts all processes of a server, for live queries MariaDB too. nginx checks neither keys nor limits; fastify checks both.',
    table(['product ÷', ...others], ratios),
    table(head, figures),
    failureList(findings),
  ].join('\n\n');
}
