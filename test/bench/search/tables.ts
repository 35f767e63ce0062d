/** The tables of the search benchmark: ratios, then times, then the cost of opening and memory. */
import { median, table } from '../part.ts';
import type { Round, SizeResult } from '../search.ts';
import { ENGINE_IDS, ENGINES, type EngineId } from './engines.ts';

interface Summary {
  readonly p50: number;
  readonly p99: number;
  /** Of all rounds. */
  readonly max: number;
}

/** Slow queries are shown from this time on, in milliseconds. */
const SHOWN_FROM = 2;
const LONGEST_SHOWN_QUERY = 60;

/** @returns Markdown for one size, with a heading "###", of all engines in turn */
export function describeSize(result: SizeResult): string {
  const { games, titles, timed } = result;
  const engines = ENGINE_IDS.filter((id) => timed.has(id));
  const others = engines.filter((id) => id !== 'product');
  return [
    `### ${games.toLocaleString('en')} ${titles}`,
    'Time relative to the product, at p50. In brackets: how many of 100 answers (total and page) differ from those of the product.',
    ratioTable(result, others),
    'Milliseconds: p50 / p99 (medians of the rounds) / max (of all rounds). Up to 200 queries per round; at least 10 for slow engines.',
    timeTable(result, engines),
    'Memory is the growth of resident memory since before the opening, for MariaDB that of the server. Mapped files count once they have been read.',
    openTable(result, engines),
    ...[...result.leftOut].map(([id, why]) => `- ${ENGINES[id].name} is left out: ${why}.`),
  ]
    .filter((text) => text !== '')
    .join('\n\n');
}

/** @returns the same for the product alone */
export function describeAlone(result: SizeResult): string {
  return [
    `### ${result.games.toLocaleString('en')} ${result.titles}, the product alone`,
    'Milliseconds, one set after the other without other engines in between. "Pause" is the longest interval of a 1 ms timer during the set, "garbage" the longest garbage collection, and "first pause" the pause in the pass right after opening. The slowest query of each set was repeated five times; the last column shows the fastest repetition.',
    pauseTable(result),
  ].join('\n\n');
}

function roundsOf({ timed }: SizeResult, id: EngineId, set: string): readonly Round[] {
  return timed.get(id)?.get(set)?.slice(1) ?? [];
}

function summaryOf(rounds: readonly Round[]): Summary | undefined {
  if (rounds.length === 0) return undefined;
  const sorted = rounds.map(({ timed }) => timed.times.toSorted((a, b) => a - b));
  const at = (share: number) =>
    median(sorted.map((times) => times[Math.ceil(times.length * share) - 1]));
  return {
    p50: at(0.5),
    p99: at(0.99),
    max: Math.max(...sorted.map((times) => times.at(-1) as number)),
  };
}

function ratioTable(result: SizeResult, others: readonly EngineId[]): string {
  const rows = result.sets.map(({ name }) => {
    const own = summaryOf(roundsOf(result, 'product', name));
    const cells = others.map((id) => {
      const rounds = roundsOf(result, id, name);
      const theirs = summaryOf(rounds);
      if (own === undefined || theirs === undefined) return '–';
      const different = share(roundsOf(result, 'product', name), rounds);
      return `${figure(theirs.p50 / own.p50)}${different === 0 ? '' : ` (${different})`}`;
    });
    return [name, ...cells];
  });
  return table(['query set', ...others.map((id) => ENGINES[id].name)], rows);
}

/** How many of 100 answers differ, among the queries that both answered. */
function share(own: readonly Round[], theirs: readonly Round[]): number {
  let compared = 0;
  let different = 0;
  for (const [round, { timed }] of theirs.entries()) {
    const expected = own[round]?.timed.answers ?? [];
    for (const [index, answer] of timed.answers.entries()) {
      compared++;
      if (answer !== expected[index]) different++;
    }
  }
  return Math.ceil((different / compared) * 100);
}

function timeTable(result: SizeResult, engines: readonly EngineId[]): string {
  const rows = result.sets.map(({ name }) => {
    const cells = engines.map((id) => {
      const summary = summaryOf(roundsOf(result, id, name));
      if (summary === undefined) return '–';
      return [summary.p50, summary.p99, summary.max].map(figure).join(' / ');
    });
    return [name, ...cells];
  });
  return table(['query set', ...engines.map((id) => ENGINES[id].name)], rows);
}

function pauseTable(result: SizeResult): string {
  const rows = result.sets.map(({ name }) => {
    const rounds = roundsOf(result, 'product', name);
    const { p50, p99, max } = summaryOf(rounds) as Summary;
    const first = result.timed.get('product')?.get(name)?.[0] as Round;
    const most = (of: 'pause' | 'collection') => Math.max(...rounds.map(({ timed }) => timed[of]));
    const slowest = slowestOf(rounds) as Slowest;
    return [
      name,
      ...[p50, p99, max, most('pause'), most('collection'), first.timed.pause].map(figure),
      slowest.time < SHOWN_FROM ? '' : `${figure(slowest.again)}: \`${slowest.text}\``,
    ];
  });
  return table(
    [
      'query set',
      'p50',
      'p99',
      'max',
      'pause',
      'garbage',
      'first pause',
      'slowest query, repeated',
    ],
    rows,
  );
}

interface Slowest {
  readonly time: number;
  readonly again: number;
  readonly text: string;
}

function slowestOf(rounds: readonly Round[]): Slowest | undefined {
  let slowest: Slowest | undefined;
  for (const { set, timed } of rounds) {
    for (const [index, time] of timed.times.entries()) {
      if (time <= (slowest?.time ?? 0)) continue;
      const again = timed.again.get(index) ?? time;
      slowest = { time, again, text: queryText(set.queries[index] ?? {}) };
    }
  }
  return slowest;
}

function queryText(query: object): string {
  const text = Object.entries(query)
    .map(([name, value]) => `${name}=${value}`)
    .join(' ');
  const letters = [...text.replace(/[`|]/g, ' ')];
  return letters.length <= LONGEST_SHOWN_QUERY
    ? letters.join('')
    : `${letters.slice(0, LONGEST_SHOWN_QUERY).join('')}…`;
}

function openTable({ opened, memoryAfter }: SizeResult, engines: readonly EngineId[]): string {
  const rows = engines.map((id) => {
    const { openSeconds, buildSeconds, memoryMb } = opened.get(id) as NonNullable<
      ReturnType<typeof opened.get>
    >;
    const isStored = 'isStored' in ENGINES[id] || buildSeconds === undefined;
    return [
      ENGINES[id].name,
      buildSeconds === undefined ? '–' : `${figure(buildSeconds)} s`,
      isStored ? `${figure(openSeconds)} s` : '–',
      `${Math.round(memoryMb)} MB`,
      memoryAfter.has(id) ? `${Math.round(memoryAfter.get(id) as number)} MB` : '–',
    ];
  });
  return table(['engine', 'builds its index in', 'opens in', 'memory', 'after the queries'], rows);
}

/** Three significant digits. */
function figure(value: number): string {
  if (value >= 100) return Math.round(value).toLocaleString('en');
  return value >= 10 ? value.toFixed(1) : value.toFixed(value >= 1 ? 2 : 3);
}
