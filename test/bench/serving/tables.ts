/** Turns measurements into Markdown: first the goals, then the figures. */
import { median, table } from '../part.ts';
import type { Memory } from './memory.ts';
import type { Openings, Round, Window } from './opening.ts';
import { THREADS, type Threads, type ThreadsResult, type Work } from './threads.ts';

const LONGEST_MS = 50;
const MOST_MEMORY = 850;
const LEAST_GAIN = 1.7;

const tenths = (value: number) => value.toFixed(1);
const whole = (value: number) => Math.round(value).toString();
const percent = (value: number) => `${Math.round(value * 100)} %`;
const range = (values: readonly number[], format: (value: number) => string) =>
  `${format(Math.min(...values))}–${format(Math.max(...values))}`;
const named = (threads: number) => `${threads} thread${threads === 1 ? '' : 's'}`;

/** The gain of two threads and the cost of an opening, next to the goals. */
export function goalTable(openings: readonly Openings[], { works }: ThreadsResult): string {
  const row = (
    title: string,
    values: readonly number[],
    format: (value: number) => string,
    goal: string,
    isMet: (value: number) => boolean,
    decisive = median(values),
  ) => [title, format(decisive), range(values, format), goal, isMet(decisive) ? 'yes' : '**no**'];
  const hundredths = (value: number) => value.toFixed(2);
  return table(
    ['', '', 'lowest–highest', 'goal', 'met'],
    [
      ...works.map((work) =>
        row(
          `two threads on two cores ÷ one thread, ${work.title}`,
          gainsOf(work),
          hundredths,
          `≥ ${LEAST_GAIN}`,
          (value) => value >= LEAST_GAIN,
        ),
      ),
      ...openings.map(({ threads, rounds }) =>
        row(
          `longest delay while opening, ${named(threads)}, ms`,
          rounds.map(({ opening }) => opening.product.longest),
          tenths,
          `≤ ${LONGEST_MS}`,
          (value) => value <= LONGEST_MS,
        ),
      ),
      ...openings.map(({ threads, rounds }) => {
        const values = rounds.map(({ memory }) => memory.highest.highest);
        return row(
          `highest resident memory of all rounds, ${named(threads)}, MB`,
          values,
          whole,
          `≤ ${MOST_MEMORY}`,
          (value) => value <= MOST_MEMORY,
          Math.max(...values),
        );
      }),
    ],
  );
}

/** The gain of two threads on two cores over one thread on one core, by round. */
function gainsOf({ runs }: Work): number[] {
  return runs[1].map(({ cpu }, round) => (2 * cpu) / (runs[2][round]?.cpu ?? Number.NaN));
}

export function threadTables({ works, memory }: ThreadsResult): string {
  const speeds = works.flatMap(({ title, runs }) =>
    THREADS.map((threads) => {
      const found = runs[threads];
      const of = (value: (run: (typeof found)[0]) => number) => median(found.map(value));
      return [
        `${title}, ${named(threads)}`,
        tenths(of(({ cpu }) => cpu)),
        range(
          found.map(({ cpu }) => cpu),
          tenths,
        ),
        whole(of(({ perSecond }) => perSecond)),
        percent(of(({ cpu, perSecond }) => (cpu * perSecond) / 2e6)),
        percent(of(({ others }) => others / 2)),
        percent(of(({ shares }) => shares[0])),
        percent(of(({ shares }) => shares[1])),
        tenths(of(({ p99 }) => p99)),
      ];
    }),
  );
  const memories = THREADS.flatMap((threads: Threads) => [
    [`${named(threads)}, generation opened`, ...memoryCells(memory[threads].opened)],
    [`${named(threads)}, after all load`, ...memoryCells(memory[threads].loaded)],
  ]);
  return [
    table(
      [
        '',
        'CPU µs/request',
        'lowest–highest',
        'requests/s',
        'proxy, of two cores',
        'wrk and others',
        'busiest thread',
        'next thread',
        'p99 ms',
      ],
      speeds,
    ),
    '**Resident memory, MB**',
    table(MEMORY_HEAD, memories),
  ].join('\n\n');
}

const MEMORY_HEAD = ['', 'resident', 'anonymous', 'files', 'shared', 'highest'];

function memoryCells({ resident, anonymous, file, shared, highest }: Memory): string[] {
  return [resident, anonymous, file, shared, highest].map(whole);
}

const WINDOWS = [
  ['before, nothing opened', 'before'],
  ['opening', 'opening'],
  ['closing the old one', 'closing'],
] as const;

export function openingTables({ threads, rounds }: Openings): string {
  const delays = WINDOWS.map(([title, name]) => {
    const of = (value: (window: Window) => number) =>
      median(rounds.map((round) => value(round[name])));
    return [
      title,
      whole(of(({ product }) => product.requests)),
      ...[
        of(({ product }) => product.p50),
        of(({ product }) => product.p99),
        of(({ product }) => product.longest),
        of(({ control }) => control.p50),
        of(({ control }) => control.p99),
        of(({ control }) => control.longest),
      ].map(tenths),
    ];
  });
  const memories = (['before', 'highest', 'after', 'closed'] as const).map((name) => {
    const of = (kind: keyof Memory) =>
      whole(median(rounds.map(({ memory }) => memory[name][kind])));
    const [resident, highest] = [of('resident'), of('highest')];
    const most = name === 'highest' ? highest : resident;
    return [MEMORY_TITLES[name], most, of('anonymous'), of('file'), of('shared')];
  });
  return [
    `**${named(threads)}**`,
    table(
      [
        'delay, ms',
        'requests',
        'p50',
        'p99',
        'longest',
        'control p50',
        'control p99',
        'control longest',
      ],
      delays,
    ),
    table(
      [
        'round',
        'opened in, s',
        'according to the proxy, s',
        'highest MB',
        'longest before',
        'longest, opening',
        'longest, closing',
        'control before',
        'control, opening',
        'control, closing',
      ],
      rounds.map((round, index) => [whole(index + 1), ...roundCells(round)]),
    ),
    table(['memory, MB', ...MEMORY_HEAD.slice(1, -1)], memories),
  ].join('\n\n');
}

const MEMORY_TITLES = {
  before: 'before',
  highest: 'highest while opening',
  after: 'after, both open',
  closed: 'after the old one was closed',
};

function roundCells(round: Round): string[] {
  const windows = WINDOWS.map(([, name]) => round[name]);
  return [
    tenths(round.seconds),
    tenths(round.ownSeconds),
    whole(round.memory.highest.highest),
    ...windows.map(({ product }) => tenths(product.longest)),
    ...windows.map(({ control }) => tenths(control.longest)),
  ];
}
