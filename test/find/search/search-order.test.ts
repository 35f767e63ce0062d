/** In which order search gives what it finds, on examples made by hand. */
import { describe, expect, test } from 'vitest';
import { type MadeSearch, searchOf } from './made-search.ts';

/** Titles found, best first. */
function ranked(search: MadeSearch, q?: string): string[] {
  return search.search({ q, sort: 'relevance' }).hits.map(({ title }) => title);
}

describe('the tiers of relevance', () => {
  test('come in order, whatever the covers', async () => {
    // Each has fewer words and more covers than the one before.
    const best = [
      'Star Fox / Star Fox / Star Fox / Star Fox',
      'Star Fox with All These Other Words',
      'Star Foxes with Other Words',
      'The Star Fox Short Story',
      'Fox, Man and Star',
      'Foxes and Star',
    ];
    const games = best.map((title, i) => ({
      title,
      covers: i,
      others: i === 0 ? ['Star Fox'] : [],
    }));
    expect(ranked(await searchOf(...games.reverse()), 'star fox')).toEqual(best);
  });

  describe('of a title', async () => {
    const EXAMPLES: readonly [q: string, title: string, tier: number][] = [
      ['star fox', 'Star Fox', 0],
      ['starfox', 'Star Fox', 0],
      ['star fox', 'StarFox', 0],
      ['star fox 2', 'StarFox II', 0],
      ['starfox2', 'Star Fox II', 0],
      ['super mario brothers', 'Super Mario Bros.', 0],
      ['mario and luigi', 'Mario & Luigi', 0],
      ['mario luigi', 'Mario & Luigi', 0],
      ['stalker', 'S.T.A.L.K.E.R.', 0],
      ['zleda', 'Zelda', 0],
      ['star', 'Star Fox', 1],
      ['zleda', 'Zelda Again', 1],
      ['star fo', 'Star Fox', 2],
      ['st', 'Star Fox', 2],
      ['ドラゴン', 'ドラゴンクエスト', 2],
      ['golden e', 'GoldenEye 007', 2],
      ['star fox', 'Star Foxes Again', 2],
      ['the', 'Thesaurus', 2],
      ['the', 'Thesaurus of the Words', 2],
      ['fox', 'Star Fox', 3],
      ['starfox', 'The Star Fox', 3],
      ['golden eye', 'The GoldenEye', 3],
      ['fox star', 'Star Fox', 4],
      ['star adventures', 'Star Fox Adventures', 4],
      ['star star', 'Star Fox', 4],
      ['クエスト', 'ドラゴンクエスト', 4],
      ['fo', 'Star Fox', 6],
      ['star fo', 'The Star Fox', 6],
      ['star adv', 'Star Fox Adventures', 6],
      ['fox sta', 'Star Fox', 6],
      ['the golden e', 'GoldenEye the First', 6],
    ];
    const search = await searchOf(...new Set(EXAMPLES.map(([, title]) => title)));

    test.each(EXAMPLES)('%s in %s: %i', (q, title, tier) => {
      expect(search.tierOf(q, title)).toBe(tier);
    });
  });

  test('are those of the best variant', async () => {
    const search = await searchOf(
      { title: 'Resident Evil', others: ['Biohazard'], covers: 1 },
      { title: 'The Biohazard', covers: 9 },
      { title: 'Biohazard 2', covers: 9 },
    );
    expect(ranked(search, 'biohazard')).toEqual(['Resident Evil', 'Biohazard 2', 'The Biohazard']);
  });

  test('of a query with a platform are those of the other words', async () => {
    const search = await searchOf(
      { title: 'New Tetris', platform: 'nes', covers: 3 },
      { title: 'Tetris', platform: 'nes' },
    );
    expect(ranked(search, 'tetris nes')).toEqual(['Tetris', 'New Tetris']);
    expect(ranked(search, 'nes')).toEqual(['New Tetris', 'Tetris']);
  });

  test('of a query with a wrong word are the best without one of the words', async () => {
    const search = await searchOf(
      'Mega Man Legends',
      { title: 'Super Mega Man', covers: 9 },
      'Mega Man',
    );
    expect(ranked(search, 'mega man xyz')).toEqual([
      'Mega Man',
      'Mega Man Legends',
      'Super Mega Man',
    ]);
  });
});

test('a title that is found by the words of its slug comes after those that people see', async () => {
  const zelda = await searchOf(
    { title: 'ゼルダの伝説1', slug: 'zelda-no-densetsu-1', covers: 9 },
    { title: 'ゼルダ', slug: 'zelda', covers: 9 },
    'The Legend of Zelda: Ocarina of Time',
    'The Legend of Zelda',
  );
  const seen = ['The Legend of Zelda', 'The Legend of Zelda: Ocarina of Time'];
  expect(ranked(zelda, 'zelda')).toEqual([...seen, 'ゼルダ', 'ゼルダの伝説1']);
  expect(ranked(zelda, 'zeld')).toEqual([...seen, 'ゼルダ', 'ゼルダの伝説1']);
  // An alternative title is one, whatever the slug.
  const tetris = await searchOf(
    { title: 'Тетрис', slug: 'tetris', others: ['Tetris'] },
    { title: 'Tetris 2', covers: 9 },
  );
  expect(ranked(tetris, 'tetris')).toEqual(['Тетрис', 'Tetris 2']);
});

test('within a tier: fewer words, then more covers, then title order', async () => {
  const search = await searchOf(
    { title: 'Doom b c', covers: 9 },
    { title: 'Doom b' },
    { title: 'Doom c', covers: 2 },
    { title: 'Doom a' },
    // Found only by its slug.
    { title: '!!!', slug: 'doom-a-b-c-d', covers: 99 },
    // The words of an alternative title are not counted, and do not count as those of the title.
    { title: 'Words', others: ['Doom of the many words'] },
  );
  expect(ranked(search, 'doom')).toEqual([
    'Doom c',
    'Doom a',
    'Doom b',
    'Words',
    'Doom b c',
    '!!!',
  ]);
  expect(ranked(search)).toEqual(['!!!', 'Doom b c', 'Doom c', 'Doom a', 'Doom b', 'Words']);
});

test('words of a title that the query has are not additional, however they are written', async () => {
  const games = [
    { title: 'Hat Trick 94', covers: 3 },
    { title: 'HatTrick94', covers: 2 },
    { title: "Hat Trick '94", covers: 1 },
    { title: 'Hat Trick 94 Gold', covers: 3 },
    { title: 'HatTrick94 Gold', covers: 2 },
    { title: 'HatTrick94 Gold Edition', covers: 9 },
  ];
  const titles = games.map(({ title }) => title);
  const search = await searchOf(...games.toReversed());
  expect(ranked(search, 'hat trick 94')).toEqual(titles);
  expect(ranked(search, 'hattrick94')).toEqual(titles);
});

test('additional words are those of the title as it is shown', async () => {
  const search = await searchOf(
    { title: 'Q.R.S.', covers: 9 },
    { title: 'Q Darius', covers: 1 },
    { title: 'Lylat Wars of the Stars', others: ['Comet Fox'], covers: 9 },
    { title: 'Comet Fox' },
  );
  // One by its initials, of which two are additional.
  expect(ranked(search, 'q')).toEqual(['Q Darius', 'Q.R.S.']);
  expect(ranked(search, 'comet fox')).toEqual(['Comet Fox', 'Lylat Wars of the Stars']);
});

test('another title makes no game lead by being short', async () => {
  const search = await searchOf(
    { title: 'Lylat', others: ['Comet Fox Adventures', 'SW Lylat'], covers: 9 },
    { title: 'Comet Fox Adventures' },
    { title: 'SW Kart Racing' },
    { title: 'Vega Run', others: ['SW Vega Run'], covers: 9 },
    { title: 'SW Golf' },
  );
  expect(ranked(search, 'comet fox adventures')).toEqual(['Comet Fox Adventures', 'Lylat']);
  // "SW" is a word of some titles, and of others of some.
  expect(ranked(search, 'sw')).toEqual(['Lylat', 'SW Golf', 'Vega Run', 'SW Kart Racing']);
  expect(ranked(search, 'sw vega')).toEqual(['Vega Run']);
});

test('the other orders are those of the API', async () => {
  const search = await searchOf(
    { title: 'Final Fantasy 10', year: 2001 },
    { title: 'Final Fantasy 2', year: 1988 },
    { title: 'final fantasy 2', platform: 'nes', year: 1988 },
    { title: 'Éclair' },
  );
  const ids = (sort?: string) => search.search({ sort }).hits.map(({ id }) => id);
  expect(ids()).toEqual([4, 3, 2, 1]);
  expect(ids('title_desc')).toEqual([1, 2, 3, 4]);
  expect(ids('year_asc')).toEqual([3, 2, 1, 4]);
  expect(ids('year_desc')).toEqual([1, 3, 2, 4]);
});
