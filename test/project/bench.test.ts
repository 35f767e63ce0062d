/** A candidate that fails does not end the benchmark. */
import { expect, test } from 'vitest';
import { measureInTurn, type Run } from '../bench/http/in-turn.ts';
import type { Measurement } from '../bench/http/load.ts';
import { workTables } from '../bench/http/tables.ts';

const MEASUREMENT: Measurement = {
  ...{ requests: 3_208, perSecond: 100, cpu: 10, busy: 1, others: 0, p99: 2, refused: 0 },
};

test('a candidate that fails is reported and has no figures, and the others are measured', async () => {
  const work = { id: 'game', title: 'one game', status: 200 } as const;
  const run = (name: Run['name'], changes: Partial<Run>): Run => ({
    ...{ work, name, found: [], check: async () => {}, measureFor: async () => MEASUREMENT },
    ...changes,
  });
  const broken = async () => {
    throw new Error('the connection broke');
  };
  const runs = [
    run('live', { measureFor: async () => ({ ...MEASUREMENT, refused: 2 }) }),
    run('express', { measureFor: broken }),
    run('fastify', { check: broken }),
    run('product', {}),
  ];
  const faults = await measureInTurn(runs, { rounds: 1, seconds: 1, report: () => {} });
  expect(faults.filter((fault) => fault.startsWith('- round'))).toEqual([
    '- round 1: one game, live: refused 2 of 3208 requests',
    '- round 1: one game, express: the connection broke',
    '- round 1: one game, fastify: the connection broke',
  ]);
  const servers = runs.map(({ name }) => name);
  const found = new Map(runs.map(({ name, found }) => [name, found]));
  const text = workTables(
    [{ ...work, servers, target: '', connections: 1 }],
    new Map([['game', found]]),
  );
  const firstFigures = text.match(/^\|(?: [^|]*\|){2}/gm)?.slice(2);
  expect(firstFigures).toEqual([
    expect.stringContaining('| failed |'),
    expect.stringContaining('| failed |'),
    expect.stringContaining('| failed |'),
    expect.stringContaining('| 10.0 |'),
  ]);
});
