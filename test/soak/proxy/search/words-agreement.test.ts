/** The words of the reference are those of the product, for titles and for noise. */
import { expect, test } from 'vitest';
import { plainWordsOf, wordsOf } from '../../../../format/index/words.ts';
import { makeRandom } from '../../../catalogue/random.ts';
import { seededCatalogue } from '../../../catalogue/seeded.ts';
import { plainWordsIn, wordsIn } from './reference/words.ts';

test('words and plain words', () => {
  const titles = [...seededCatalogue({ games: 4_000, seed: 11 }).games].map((row) =>
    String(row[3]),
  );
  const { below, pick } = makeRandom(12);
  const rules = [...'a.b&c+#.あｃ＋. 漢é3'];
  const makers = [() => pick(rules), () => String.fromCodePoint(below(pick([0x400, 0x3_0000])))];
  const noise = Array.from({ length: 8_000 }, () => {
    const make = pick(makers);
    return Array.from({ length: 7 }, make).join('');
  });
  for (const text of [...titles, ...noise]) {
    expect(wordsIn(text), JSON.stringify(text)).toEqual(wordsOf(text));
    expect(plainWordsIn(text), JSON.stringify(text)).toEqual(plainWordsOf(text));
  }
});
