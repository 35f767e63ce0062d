/** Random bad rows: whatever stands in the tables, each row is served as the contract says or reported. */
import { expect, test } from 'vitest';
import { checkCorrupted } from '#test/generator/bad-rows.ts';
import { printFigure, rounds } from '#test/soak/rounds.ts';

const CATALOGUES = rounds(2, 25);

test(`every row of ${CATALOGUES} corrupted catalogues is served as the contract says or reported`, async () => {
  const figures = { leftOut: 0, served: 0, resources: 0 };
  for (let seed = 1; seed <= CATALOGUES; seed++) {
    const found = await checkCorrupted(seed);
    figures.leftOut += found.leftOut;
    figures.served += found.served;
    figures.resources += found.resources;
  }
  expect(figures.leftOut).toBeGreaterThan(CATALOGUES);
  printFigure(
    'Bad rows',
    `${CATALOGUES} corrupted catalogues: ${figures.leftOut} rows left out and reported, ${figures.served} games and covers served; ${figures.resources} responses checked against the contract, 0 wrong`,
  );
});
