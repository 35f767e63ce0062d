/** What search tries when a query matches nothing as it stands, on examples made by hand. */
import { describe, expect, test } from 'vitest';
import { found, searchOf } from '#test/find/search/made-search.ts';

const on = (platform: string, title: string, covers = 0) => ({ title, platform, covers });
const ofNes = [on('nes', 'Tetris'), on('nes', 'Contra')];
const ofSnes = [on('snes', 'Tetris'), on('snes', 'Super Tennis')];
const tetris = await searchOf(...ofNes, ...ofSnes, on('n64', 'Tetris 64'));
const zelda = await searchOf(on('nes', 'Zelda'), on('snes', 'Zelfa', 1));

describe('near spellings', () => {
  test('count only where nothing matches as it stands', async () => {
    const search = await searchOf('Zelda', 'Zelfa Quest');
    expect(found(search, 'zelfa')).toEqual(['exact', 'Zelfa Quest']);
    expect(found(search, 'zelga')).toEqual(['near', 'Zelda', 'Zelfa Quest']);
  });

  test('count beside a beginning of a word that far fewer titles have, and come after it', async () => {
    const numbers = Array.from({ length: 11 }, (_, at) => at + 2);
    const tekken = ['Tekken', ...numbers.map((number) => `Tekken ${number}`)];
    const search = await searchOf(
      on('nes', 'Tekenen met Ton'),
      ...tekken.map((title) => on('snes', title)),
      ...['Zeldin', 'Held', ...numbers.slice(0, 8).map((number) => `Held ${number}`)].map((title) =>
        on('snes', title),
      ),
    );
    const ranked = (q: string, platform = '') => {
      const { step, hits } = search.search({ q, platform, sort: 'relevance' });
      return [step, ...hits.map(({ title }) => title)];
    };
    expect(ranked('teken')).toEqual(['near', 'Tekenen met Ton', ...tekken]);
    expect(ranked('met teken')).toEqual(['exact', 'Tekenen met Ton']);
    expect(ranked('teken', 'nes')).toEqual(['exact', 'Tekenen met Ton']);
    expect(ranked('tekenen')).toEqual(['exact', 'Tekenen met Ton']);
    expect(ranked('zeld')).toEqual(['exact', 'Zeldin']);
    expect(ranked('tek')).toEqual(['exact', ...tekken, 'Tekenen met Ton']);
  });

  test('of a platform at an end come besides rarer titles with all words, after equal ones', async () => {
    const games = ['Tetris', 'Tetris 2', 'New Tetris'].map((title) => on('nes', title));
    const hack = 'Tetris (NES Hack)';
    const search = await searchOf(...games, on('snes', hack), on('snes', 'Tetris'));
    const ranked = (q: string) => {
      const { step, hits } = search.search({ q, sort: 'relevance' });
      return [step, ...hits.map(({ title }) => title)];
    };
    expect(ranked('tetris nes')).toEqual(['platform', 'Tetris', hack, 'Tetris 2']);
    for (const q of ['nes tetris', 'tetris for nes', 'tetris on nes'])
      expect(ranked(q)[0], q).toBe('platform');
    expect(ranked('hack nes')).toEqual(['exact', hack]);
    expect(ranked('new tetris nes')).toEqual(['platform', 'New Tetris']);
  });

  test('are those of the word in the query, not of a word that equals it', async () => {
    const search = await searchOf('Mario Broz');
    expect(found(search, 'mario bros')).toEqual(['near', 'Mario Broz']);
    expect(found(search, 'mario brothers')).toEqual(['partial', 'Mario Broz']);
  });

  test('apply to each word, but not to words that are joined or split', async () => {
    const search = await searchOf('Golden Temple', 'Starcraft');
    expect(found(search, 'godlen tempel')).toEqual(['near', 'Golden Temple']);
    expect(found(search, 'templ golden tempel')).toEqual(['near', 'Golden Temple']);
    expect(found(search, 'goldenxtemple')).toEqual([undefined]);
    expect(found(search, 'stra craft')).toEqual([undefined]);
    // Without the swap, "starcraf" would begin a word.
    expect(found(search, 'star carf')).toEqual(['partial', 'Starcraft']);
  });
});

describe('words that name a platform', () => {
  const hits = (q: string) => {
    const { step, hits: games } = tetris.search({ q });
    return [step, ...games.map(({ title, platform }) => `${title} ${platform}`)];
  };

  test('become a filter, wherever they are', async () => {
    expect(hits('tetris nes')).toEqual(['platform', 'Tetris nes']);
    expect(hits('nes tetris')).toEqual(['platform', 'Tetris nes']);
    expect(hits('super snes tennis')).toEqual(['platform', 'Super Tennis snes']);
    expect(hits('contra nintendo entertainment system')).toEqual(['platform', 'Contra nes']);
    expect(hits('tetr n64')).toEqual(['platform', 'Tetris 64 n64']);
  });

  test('can name several', async () => {
    expect(hits('nintendo tetris')).toEqual(['platform', 'Tetris nes', 'Tetris 64 n64']);
  });

  test('are taken as many as possible, and the later ones', async () => {
    // "super nintendo" before "nintendo"
    expect(hits('tetris super nintendo')).toEqual(['platform', 'Tetris snes']);
    expect(hits('nes tetris snes')).toEqual([undefined]);
    const longer = await searchOf(on('nes', 'Super Tetris'), 'Tetris');
    expect(found(longer, 'super nintendo tetris')).toEqual(['platform', 'Tetris']);
    const twice = await searchOf(on('nes', 'N64 Tetris'), on('n64', 'NES Tetris'));
    expect(found(twice, 'n64 tetris nes')).toEqual(['platform', 'N64 Tetris']);
  });

  test('leave the other words as if they had been typed alone', async () => {
    const split = await searchOf(on('nes', 'StarFox'));
    expect(found(split, 'star nes fox')).toEqual(['platform', 'StarFox']);
    expect(found(split, 'star nes fo')).toEqual(['platform', 'StarFox']);
  });

  test('are taken so that the others match as they stand, if that is possible', async () => {
    const search = await searchOf({ title: 'Metal' }, on('nes', 'Super Metan'));
    expect(found(search, 'super nintendo metan')).toEqual(['platform', 'Super Metan']);
    // "super nintendo" is longer, but with it only a near spelling is found.
    expect(found(await searchOf('Metal'), 'super nintendo metan')).toEqual(['platform', 'Metal']);
  });

  test('stay words if the platform has no game with the others', async () => {
    expect(hits('super contra')[0]).toBe('partial');
    expect(hits('contra n64')).toEqual(['partial', 'Contra nes']);
  });

  test('come after near spellings, and allow them', async () => {
    expect(hits('tetrsi nes')).toEqual(['platform', 'Tetris nes']);
    const near = await searchOf(on('nes', 'Tetris'), 'Tetrid NES', 'Super NES');
    expect(found(near, 'tetrix nes')).toEqual(['near', 'Tetrid NES']);
    expect(found(near, 'super nes')).toEqual(['exact', 'Super NES']);
  });

  test('are never near spellings of other words', async () => {
    const near = await searchOf('Zelda', 'NES Classics: Zelda', 'Zelda Nintendu');
    expect(found(near, 'zelda snes')[0]).toBe('platform');
    expect(found(near, 'zelda nintendo')[0]).toBe('partial');
    expect(found(near, 'zelda nintendi')).toEqual(['near', 'Zelda Nintendu']);
    expect(found(near, 'zleda snes')[0]).toBe('platform');
    // Several words that only together name a platform can be misspelled.
    expect(found(await searchOf('Super Nintendu'), 'super nintendi')[0]).toBe('near');
  });

  test('are looked for among the plain words too', async () => {
    const man = await searchOf(on('nes', 'Mega Man'));
    expect(found(man, 'mega & man nes')).toEqual(['platform', 'Mega Man']);
  });

  test('alone find every game of the platform', async () => {
    expect(hits('super nes')).toEqual(['platform', 'Super Tennis snes', 'Tetris snes']);
    // A platform without games names nothing.
    expect(hits('mega drive')).toEqual([undefined]);
  });

  test('are read with their marks and without', async () => {
    const drive = await searchOf(on('mega-drive', 'Sonic'));
    for (const name of ['mega drive', 'MEGA-DRIVE', 'genesis 32x']) {
      expect(found(drive, `sonic ${name}`)).toEqual(['platform', 'Sonic']);
    }
  });

  test('are read however they are divided', async () => {
    const search = await searchOf(on('mega-drive', 'Sonic'), on('n64', 'Zelda'));
    expect(found(search, 'sonic megadrive')).toEqual(['platform', 'Sonic']);
    expect(found(search, 'n 64 zelda')).toEqual(['platform', 'Zelda']);
  });
});

describe('all words but one', () => {
  test('are tried last, each word in turn', async () => {
    const search = await searchOf('Crash Bandicoot', 'Crash Team Racing', 'Bandicoot Quest');
    expect(found(search, 'crash bandicoot quest')).toEqual([
      'partial',
      'Bandicoot Quest',
      'Crash Bandicoot',
    ]);
    expect(found(search, 'crash nothing here')).toEqual([undefined]);
    expect(found(search, 'nothing')).toEqual([undefined]);
  });

  test('are tried with the plain words too', async () => {
    expect(found(await searchOf('Mega Man'), 'mega & man xyz')).toEqual(['partial', 'Mega Man']);
  });

  test('match exactly: the word before one that is left out can be a beginning', async () => {
    const search = await searchOf('Crash Bandicoot');
    expect(found(search, 'crash bandi xyz')).toEqual(['partial', 'Crash Bandicoot']);
    expect(found(search, 'carsh bandicoot xyz')).toEqual([undefined]);
    expect(found(search, 'crash xyz banidcoot')).toEqual([undefined]);
  });
});

describe('which step applies', () => {
  const titles = (query: object) => {
    const { step, hits } = zelda.search({ q: 'zelda', ...query });
    return [step, ...hits.map(({ title }) => title)];
  };

  test('is decided among the games of the platform', async () => {
    expect(titles({})).toEqual(['exact', 'Zelda']);
    expect(titles({ platform: 'Nes' })).toEqual(['exact', 'Zelda']);
    expect(titles({ platform: 'SNES' })).toEqual(['near', 'Zelfa']);
    expect(titles({ q: 'zelfa nes', platform: 'snes' })).toEqual(['partial', 'Zelfa']);
    expect(titles({ platform: 'n64' })).toEqual([undefined]);
  });

  test('does not depend on the other filters', async () => {
    expect(titles({ region: 'japan' })).toEqual(['exact']);
    expect(titles({ genre: 'action' })).toEqual(['exact']);
    expect(titles({ platform: 'snes', region: 'japan', type: 'FRONT', genre: 'p' })).toEqual([
      'near',
      'Zelfa',
    ]);
    expect(titles({ platform: 'snes', genre: 'action' })).toEqual(['near']);
  });
});
