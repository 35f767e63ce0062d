/** The names of regions: those of catalogues in other languages, and that each means one region. */
import { expect, test } from 'vitest';
import { namesOfRegion, regionOf } from '#find/names/regions.ts';

test('a region is found by its name in another language, with and without accents', () => {
  for (const text of ['Japão', 'JAPAO', 'japón', '日本', 'JPN'])
    expect(regionOf(text)).toBe('Japan');
  expect(regionOf('EU-PAL')).toBe('Europe');
  expect(namesOfRegion('Japan').slice(0, 3)).toEqual(['japan', 'j', 'jp']);
  for (const name of ['japão', 'japao']) expect(namesOfRegion('J')).toContain(name);
  expect(namesOfRegion('Europe')).toEqual(expect.arrayContaining(['europa', 'eu-pal']));
  // A voiced sound of kana is not an accent.
  expect(namesOfRegion('Germany')).toContain('ドイツ');
  expect(namesOfRegion('Germany')).not.toContain('トイツ');
});

test('no name means two regions', () => {
  const codes =
    'WOR,USA,EUR,JPN,ASI,KOR,CHN,TWN,HKG,GER,FRA,ESP,ITA,GBR,NLD,AUS,NZL,BRA,CAN,RUS,POL'.split(
      ',',
    );
  const more =
    'CZE,SVK,HUN,BGR,HRV,LVA,GRC,TUR,ISR,ARE,MEA,ZAF,IND,SCA,SWE,DNK,FIN,NOR,PRT,AUT,CHE,BEL'.split(
      ',',
    );
  for (const code of [
    ...codes,
    ...more,
    'BNL',
    'IRL',
    'LAT',
    'HSP',
    'ARG',
    'CHL',
    'MEX',
    'PER',
    'OCE',
    'UNK',
  ]) {
    const names = namesOfRegion(code);
    expect(names.length, code).toBeGreaterThan(1);
    for (const name of names) expect([name, namesOfRegion(name)]).toEqual([name, names]);
  }
});
