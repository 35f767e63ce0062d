/** A candidate that fails does not end the benchmark. */
import { expect, test } from 'vitest';
import { cell, failureList, lazily, measureInTurn, medianOf, ratioOf } from '../bench/figures.ts';

test('a candidate that fails is reported and has no figures, and the others are measured', async () => {
  const start = lazily(async () => {
    throw new Error('it does not start');
  });
  const findings = await measureInTurn(
    [
      { name: 'broken', measure: start },
      {
        name: 'shaky',
        async measure(round) {
          if (round === 1) throw new Error('the connection broke\n    at line 1');
          return { cpu: 40 };
        },
      },
      { name: 'product', measure: async (round) => ({ cpu: 10 * round }) },
    ],
    { rounds: 2, report: () => {} },
    { isWarmedUp: true },
  );
  const cells = ['broken', 'shaky', 'product'].map((name) => [
    cell(medianOf(findings, name, 'cpu')),
    cell(ratioOf(findings, name, 'product', 'cpu')),
  ]);
  expect(cells).toEqual([
    ['failed', 'failed'],
    ['40.0', '2.00'],
    ['15.0', '1.00'],
  ]);
  expect(failureList(findings).match(/^- .*/gm)).toEqual([
    '- warm-up, broken: it does not start',
    '- round 1, broken: it does not start',
    '- round 1, shaky: the connection broke',
    '- round 2, broken: it does not start',
  ]);
});
