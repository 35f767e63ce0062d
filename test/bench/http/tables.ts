/** Turns measurements into Markdown: first the ratios of medians, then the figures behind them. */
import { median, table } from '../part.ts';
import type { Measurement } from './load.ts';
import { SERVERS, type ServerName } from './servers.ts';
import type { Work } from './works.ts';

/** Every measurement, by work and server, in the order of the rounds; undefined for one that failed. */
export type Measurements = ReadonlyMap<
  string,
  ReadonlyMap<ServerName, readonly (Measurement | undefined)[]>
>;

type Figure = readonly [work: string, server: ServerName];
interface Ratio {
  readonly title: string;
  readonly numerator: Figure;
  readonly denominator: Figure;
  /** The goal, if there is one: at most or at least this. */
  readonly most?: number;
  readonly least?: number;
}

const RATIOS: readonly Ratio[] = [
  {
    title: 'one game: product ÷ nginx static',
    ...{ numerator: ['game', 'product'], denominator: ['game', 'nginx'], most: 2 },
  },
  {
    title: 'one game: nginx `auth_request` ÷ product',
    ...{ numerator: ['game', 'authRequest'], denominator: ['game', 'product'], least: 2.5 },
  },
  {
    title: 'one game: fastify ÷ product',
    ...{ numerator: ['game', 'fastify'], denominator: ['game', 'product'], least: 2 },
  },
  {
    title: 'one game: express ÷ product',
    ...{ numerator: ['game', 'express'], denominator: ['game', 'product'] },
  },
  {
    title: 'one game: live query ÷ product',
    ...{ numerator: ['game', 'live'], denominator: ['game', 'product'], least: 10 },
  },
  {
    title: 'page of 50 games: product ÷ nginx static',
    ...{ numerator: ['page', 'product'], denominator: ['page', 'nginx'], most: 2.5 },
  },
  {
    title: 'page of 50 games, gzip: product ÷ nginx `gzip_static`',
    ...{ numerator: ['pageGzip', 'product'], denominator: ['pageGzip', 'nginx'], most: 1.5 },
  },
  {
    title: 'product: different games in random order ÷ one cached game',
    ...{ numerator: ['games', 'product'], denominator: ['game', 'product'], most: 1.3 },
  },
  {
    title: 'nginx static: the same',
    ...{ numerator: ['games', 'nginx'], denominator: ['game', 'nginx'] },
  },
  {
    title: 'different games: product ÷ nginx static',
    ...{ numerator: ['games', 'product'], denominator: ['games', 'nginx'] },
  },
  {
    title: 'different games: nginx `auth_request` ÷ product',
    ...{ numerator: ['games', 'authRequest'], denominator: ['games', 'product'] },
  },
  {
    title: 'different games: live query ÷ product',
    ...{ numerator: ['games', 'live'], denominator: ['games', 'product'] },
  },
  {
    title: 'page of 50 long games: product ÷ nginx static',
    ...{ numerator: ['longPage', 'product'], denominator: ['longPage', 'nginx'], most: 2.5 },
  },
  {
    title: 'page of 50 long games, gzip: product ÷ nginx `gzip_static`',
    ...{
      numerator: ['longPageGzip', 'product'],
      denominator: ['longPageGzip', 'nginx'],
      most: 1.5,
    },
  },
  {
    title: 'product: a page of 50 games with covers ÷ one game',
    ...{ numerator: ['coverPage', 'product'], denominator: ['game', 'product'], most: 4 },
  },
  {
    title: 'page of 50 games with covers: product ÷ nginx static',
    ...{ numerator: ['coverPage', 'product'], denominator: ['coverPage', 'nginx'], most: 1.5 },
  },
  {
    title: 'product: different pages of 50 games with covers ÷ different games',
    ...{ numerator: ['coverPages', 'product'], denominator: ['games', 'product'] },
  },
  {
    title: 'product: different batches of 100 games ÷ different games',
    ...{ numerator: ['batches', 'product'], denominator: ['games', 'product'], most: 6 },
  },
  {
    title: '`/covers/recent`: product ÷ nginx static',
    ...{ numerator: ['recent', 'product'], denominator: ['recent', 'nginx'] },
  },
  {
    title: '`/covers/recent`, gzip: product ÷ nginx `gzip_static`',
    ...{ numerator: ['recentGzip', 'product'], denominator: ['recentGzip', 'nginx'] },
  },
  {
    title: '304: product ÷ nginx static',
    ...{ numerator: ['notModified', 'product'], denominator: ['notModified', 'nginx'] },
  },
  {
    title: '401: product ÷ nginx with a fixed answer',
    ...{ numerator: ['unauthorized', 'product'], denominator: ['unauthorized', 'nginx'] },
  },
  {
    title: 'page of 50 games: live query ÷ product',
    ...{ numerator: ['page', 'live'], denominator: ['page', 'product'] },
  },
  {
    title: '`/search`, different queries: live query ÷ product',
    ...{ numerator: ['searches', 'live'], denominator: ['searches', 'product'] },
  },
];

/**
 * The ratios of processor time per request, next to the goals. Each is the median of the ratios of
 * the rounds, because the measurements of one round are close in time, under the same other load.
 */
export function ratioTable(found: Measurements): string {
  const rows = RATIOS.map(({ title, numerator, denominator, most, least }) => {
    const ratios = ratiosOf(found, numerator, denominator, 'cpu');
    const ratio = median(ratios);
    const speed = median(ratiosOf(found, denominator, numerator, 'perSecond'));
    const goal = most !== undefined ? `≤ ${most}` : least !== undefined ? `≥ ${least}` : '';
    const isMet = (most === undefined || ratio <= most) && (least === undefined || ratio >= least);
    const verdict = goal === '' ? '' : isMet ? 'yes' : '**no**';
    return [title, cell(ratio, 2), rangeOf(ratios, 2), goal, verdict, cell(speed, 2)];
  });
  return table(['', 'CPU per request', 'lowest–highest', 'goal', 'met', 'by requests/s'], rows);
}

/** The medians of each work, and the lowest and highest processor time of its rounds. */
export function workTables(works: readonly Work[], found: Measurements): string {
  return works
    .map(({ id, title, servers }) => {
      const rows = servers.map((server) => {
        const measurements = (found.get(id)?.get(server) ?? []).filter((one) => one !== undefined);
        const all = (member: keyof Measurement) => measurements.map((one) => one[member]);
        return [
          SERVERS[server],
          cell(median(all('cpu')), 1),
          rangeOf(all('cpu'), 1),
          cell(median(all('perSecond')), 0),
          cell(median(all('busy')) * 100, 0, ' %'),
          cell(median(all('others')) * 100, 0, ' %'),
          cell(median(all('p99')), 1),
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
  return overs.flatMap((over, round) => {
    const under = unders[round];
    return over === undefined || under === undefined ? [] : [over[member] / under[member]];
  });
}

/** @param value not a number if every measurement failed */
function cell(value: number, digits: number, unit = ''): string {
  return Number.isNaN(value) ? 'failed' : value.toFixed(digits) + unit;
}

function rangeOf(values: readonly number[], digits: number): string {
  if (values.length === 0) return '';
  return `${Math.min(...values).toFixed(digits)}–${Math.max(...values).toFixed(digits)}`;
}
