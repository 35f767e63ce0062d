/** Turns measurements into Markdown: first the ratios of medians, then the figures behind them. */
import { median, table } from '../part.ts';
import type { Measurement } from './load.ts';
import { SERVERS, type ServerName } from './servers.ts';
import type { Work } from './works.ts';

/** Every measurement so far, by work and server, in the order of the rounds. */
export type Measurements = ReadonlyMap<string, ReadonlyMap<ServerName, readonly Measurement[]>>;

type Figure = readonly [work: string, server: ServerName];
interface Ratio {
  readonly title: string;
  readonly over: Figure;
  readonly under: Figure;
  /** The goal, if there is one: at most or at least this. */
  readonly most?: number;
  readonly least?: number;
}

const RATIOS: readonly Ratio[] = [
  {
    title: 'one game: product ÷ nginx static',
    ...{ over: ['game', 'product'], under: ['game', 'nginx'], most: 2 },
  },
  {
    title: 'one game: nginx `auth_request` ÷ product',
    ...{ over: ['game', 'authRequest'], under: ['game', 'product'], least: 2.5 },
  },
  {
    title: 'one game: fastify ÷ product',
    ...{ over: ['game', 'fastify'], under: ['game', 'product'], least: 2 },
  },
  {
    title: 'one game: express ÷ product',
    ...{ over: ['game', 'express'], under: ['game', 'product'] },
  },
  {
    title: 'one game: live query ÷ product',
    ...{ over: ['game', 'live'], under: ['game', 'product'], least: 10 },
  },
  {
    title: 'page of 50 games: product ÷ nginx static',
    ...{ over: ['page', 'product'], under: ['page', 'nginx'], most: 2.5 },
  },
  {
    title: 'page of 50 games, gzip: product ÷ nginx `gzip_static`',
    ...{ over: ['pageGzip', 'product'], under: ['pageGzip', 'nginx'], most: 1.5 },
  },
  {
    title: 'product: different games in random order ÷ one cached game',
    ...{ over: ['games', 'product'], under: ['game', 'product'], most: 1.3 },
  },
  {
    title: 'nginx static: the same',
    ...{ over: ['games', 'nginx'], under: ['game', 'nginx'] },
  },
  {
    title: 'different games: product ÷ nginx static',
    ...{ over: ['games', 'product'], under: ['games', 'nginx'] },
  },
  {
    title: 'different games: nginx `auth_request` ÷ product',
    ...{ over: ['games', 'authRequest'], under: ['games', 'product'] },
  },
  {
    title: 'different games: live query ÷ product',
    ...{ over: ['games', 'live'], under: ['games', 'product'] },
  },
  {
    title: 'page of 50 long games: product ÷ nginx static',
    ...{ over: ['longPage', 'product'], under: ['longPage', 'nginx'], most: 2.5 },
  },
  {
    title: 'page of 50 long games, gzip: product ÷ nginx `gzip_static`',
    ...{ over: ['longPageGzip', 'product'], under: ['longPageGzip', 'nginx'], most: 1.5 },
  },
  {
    title: '`/covers/recent`: product ÷ nginx static',
    ...{ over: ['recent', 'product'], under: ['recent', 'nginx'] },
  },
  {
    title: '`/covers/recent`, gzip: product ÷ nginx `gzip_static`',
    ...{ over: ['recentGzip', 'product'], under: ['recentGzip', 'nginx'] },
  },
  {
    title: '304: product ÷ nginx static',
    ...{ over: ['notModified', 'product'], under: ['notModified', 'nginx'] },
  },
  {
    title: '401: product ÷ nginx with a fixed answer',
    ...{ over: ['unauthorized', 'product'], under: ['unauthorized', 'nginx'] },
  },
  {
    title: 'page of 50 games: live query ÷ product',
    ...{ over: ['page', 'live'], under: ['page', 'product'] },
  },
  {
    title: '`/search`, different queries: live query ÷ product',
    ...{ over: ['searches', 'live'], under: ['searches', 'product'] },
  },
];

/**
 * The ratios of processor time per request, next to the goals. Each is the median of the ratios of
 * the rounds, because the measurements of one round are close in time, under the same other load.
 */
export function ratioTable(found: Measurements): string {
  const rows = RATIOS.map(({ title, over, under, most, least }) => {
    const ratios = ratiosOf(found, over, under, 'cpu');
    const ratio = median(ratios);
    const range = `${Math.min(...ratios).toFixed(2)}–${Math.max(...ratios).toFixed(2)}`;
    const speed = median(ratiosOf(found, under, over, 'perSecond'));
    const goal = most !== undefined ? `≤ ${most}` : least !== undefined ? `≥ ${least}` : '';
    const isMet = (most === undefined || ratio <= most) && (least === undefined || ratio >= least);
    const verdict = goal === '' ? '' : isMet ? 'yes' : '**no**';
    return [title, ratio.toFixed(2), range, goal, verdict, speed.toFixed(2)];
  });
  return table(['', 'CPU per request', 'lowest–highest', 'goal', 'met', 'by requests/s'], rows);
}

/** The medians of each work, and the lowest and highest processor time of its rounds. */
export function workTables(works: readonly Work[], found: Measurements): string {
  return works
    .map(({ id, title, servers }) => {
      const rows = servers.map((server) => {
        const cpus =
          found
            .get(id)
            ?.get(server)
            ?.map(({ cpu }) => cpu) ?? [];
        const value = (member: keyof Measurement) => medianOf(found, [id, server], member);
        return [
          SERVERS[server],
          value('cpu').toFixed(1),
          `${Math.min(...cpus).toFixed(1)}–${Math.max(...cpus).toFixed(1)}`,
          Math.round(value('perSecond')).toString(),
          `${Math.round(value('busy') * 100)} %`,
          `${Math.round(value('others') * 100)} %`,
          value('p99').toFixed(1),
        ];
      });
      const head = [
        '',
        'CPU µs/request',
        'lowest–highest',
        'requests/s',
        'of the core',
        'others',
        'p99 ms',
      ];
      return `**${title[0]?.toUpperCase()}${title.slice(1)}**\n\n${table(head, rows)}`;
    })
    .join('\n\n');
}

function ratiosOf(
  found: Measurements,
  [overWork, overServer]: Figure,
  [underWork, underServer]: Figure,
  member: keyof Measurement,
): number[] {
  const unders = found.get(underWork)?.get(underServer) ?? [];
  const overs = found.get(overWork)?.get(overServer) ?? [];
  return overs.map((over, round) => over[member] / (unders[round]?.[member] ?? Number.NaN));
}

function medianOf(found: Measurements, [work, server]: Figure, member: keyof Measurement): number {
  return median((found.get(work)?.get(server) ?? []).map((measurement) => measurement[member]));
}
