/** How the proxy parses queries, Accept-Encoding and If-None-Match. */
import { describe, expect, test } from 'vitest';
import {
  facetsOf,
  ParameterError,
  pagingOf,
  readParameters,
  searchOf,
} from '#proxy/api/parameters.ts';
import { SEARCH_PARAMETERS } from '#proxy/api/routes/search.ts';
import { chooseCoding, matchesEtag } from '#proxy/http/resource.ts';

const readPaging = (query: string) => pagingOf(readParameters(query, ['page', 'per_page']));

function readSearch(query: string) {
  const parameters = readParameters(query, SEARCH_PARAMETERS);
  return { ...pagingOf(parameters), query: searchOf(parameters) };
}

const faultOf = (read: () => unknown): unknown => {
  try {
    return read();
  } catch (error) {
    expect(error).toBeInstanceOf(ParameterError);
    return (error as Error).message;
  }
};

describe('a query', () => {
  test.each([
    ['', 1, 50],
    ['page=&per_page=', 1, 50],
    ['page=7&per_page=100', 7, 100],
    ['per_page=1&page=9007199254740991', 9007199254740991, 1],
    ['&&page=3&', 3, 50],
    ['p%61ge=2&per%5Fpage=%33', 2, 3],
  ])('%j selects page %i with %i per page', (query, page, perPage) => {
    expect(readPaging(query)).toEqual({ page, perPage });
  });

  const numbers = ['0', '-1', '+1', '%2B1', '01', '1.0', '1e1', '0x1', 'a', '%201', '1%20', 'NaN'];
  test.each([...numbers, '%D9%A1', '%EF%BC%91', '1,2', '9'.repeat(17), '9007199254740992'])(
    'with page=%s or per_page=%s is refused',
    (value) => {
      const page = 'page must be an integer from 1 to 9007199254740991';
      const perPage = 'per_page must be an integer from 1 to 100';
      expect(faultOf(() => readPaging(`page=${value}`))).toBe(page);
      expect(faultOf(() => readSearch(`q=a&per_page=${value}`))).toBe(perPage);
      expect(faultOf(() => readPaging('per_page=101'))).toBe(perPage);
    },
  );

  const names = ['page', 'per_page', 'q', 'platform', 'region', 'type', 'genre', 'sort'];
  test.each(names)('is refused if %s has a "%" that does not begin an encoded byte', (name) => {
    for (const value of ['%', '%ZZ', '%2', '100%', 'a%zz+b', '%C3%A9%G0', '%%41', '%-1', '%+1']) {
      for (const query of [`${name}=${value}`, `&&${name}=${value}&`]) {
        const fault = faultOf(() => readSearch(query));
        expect(fault, query).toBe(`${name} must be percent-encoded: write % as %25`);
      }
    }
    const encoded = `${name.slice(0, -1)}%${name.charCodeAt(name.length - 1).toString(16)}`;
    expect(faultOf(() => readSearch(`${encoded}=%ZZ`))).toMatch(`${name} must be percent-encoded:`);
  });

  test('may encode spaces as "+" or "%20", and is decoded only once', () => {
    for (const [value, genre] of [
      ['a+b%20c', 'a b c'],
      ['%2B', '+'],
      ['100%25', '100%'],
      ['%25ZZ', '%ZZ'],
      ['%2520', '%20'],
    ]) {
      expect(readSearch(`genre=${value}`).query.genre).toBe(genre);
    }
  });

  test.each(names)('is refused if %s is given twice or is not UTF-8', (name) => {
    for (const twice of [`${name}=1&${name}=1`, `${name}=&${name}=`, `${name}&${name}=1`]) {
      const fault = faultOf(() => readSearch(twice));
      const lists = ['platform', 'facets', 'include', 'prefer', 'cover_type'];
      const fix = lists.includes(name) ? ', with commas between its values' : '';
      expect(fault, twice).toBe(`${name} must be given at most once${fix}`);
    }
    for (const value of ['%ff', '%C3', 'a%ED%A0%80']) {
      const fault = faultOf(() => readSearch(`${name}=${value}`));
      expect(fault, value).toBe(`${name} must be percent-encoded UTF-8`);
    }
  });

  test.each([
    ['query=zelda', 'query'],
    ['q=a&Page=2', 'Page'],
    ['x', 'x'],
    ['caf%C3%A9=1', 'café'],
    ['100%=1', '100%'],
    ['cck_0123456789=1', 'an API key'],
    ['xcck%5F012', 'an API key'],
    [`${'n'.repeat(50)}=1`, `${'n'.repeat(40)}…`],
  ])('is refused if it has an unknown parameter, as %s has', (query, name) => {
    expect(faultOf(() => readSearch(query))).toBe(
      `Unknown parameter: ${name}. Allowed: q, platform, region, type, genre, year, has_cover, sort, facets, page, per_page, include, prefer, cover_type`,
    );
  });

  test('is refused if a value has no name, which the error does not claim', () => {
    const refused = () => readParameters('=1', ['page']);
    expect(faultOf(refused)).toBe('A parameter has no name. Allowed: page');
    expect(refused).toThrow(expect.objectContaining({ parameter: undefined }));
  });

  test('is refused if the endpoint has no parameters', () => {
    expect(faultOf(() => readParameters('q=1', []))).toBe('Unknown parameter: q. Allowed: none');
    expect(readParameters('', []).size).toBe(0);
  });

  test('of a search is decoded', () => {
    const found = readSearch('sort=year_desc&genre=a%26b&region=S%C3%BCd+Korea&q=+Pok%C3%A9mon+2+');
    expect(found).toMatchObject({ page: 1, perPage: 50 });
    const variants = [['pokemon', '2']];
    expect(found.query).toEqual({ variants, region: 'Süd Korea', genre: 'a&b', sort: 'year_desc' });
    expect(readSearch('type=Front&platform=game-boy').query).toEqual({
      platform: ['game-boy'],
      type: 'Front',
      sort: 'title_asc',
    });
    expect(readSearch('q=%20%09&sort=').query).toEqual({ sort: 'title_asc' });
    // Text without a word is not the same as no text.
    expect(readSearch('q=!!').query).toEqual({ variants: [], sort: 'title_asc' });
    const two = readSearch('q=r.c.+d+e+f+g+h+i+j+k').query.variants ?? [];
    expect(two.map((words) => words.join(' '))).toEqual(['rc d e f g h i j', 'r c d e f g h i']);
    const sorts = 'sort must be one of title_asc, title_desc, year_asc, year_desc, relevance';
    for (const sort of ['title', 'TITLE_ASC', 'toString']) {
      expect(faultOf(() => readSearch(`sort=${sort}`))).toBe(sorts);
    }
  });

  test('of filters names a value that is not allowed, and what is', () => {
    const filters = 'platform=nes,%20famicom&year=1990-1999&has_cover=false';
    expect(readSearch(filters).query).toMatchObject({
      platform: ['nes', 'famicom'],
      year: [1990, 1999],
      has_cover: false,
    });
    expect(readSearch('year=1995').query.year).toEqual([1995, 1995]);
    const years = 'year must be a year or a range of years, such as 1995 or 1990-1999, not';
    const platforms =
      'platform must be 1 to 8 slugs, ids or names of platforms, separated by commas';
    for (const [query, fault] of [
      ['year=1999-1990', `${years} "1999-1990"`],
      ['year=199x', `${years} "199x"`],
      ['year=1990-', `${years} "1990-"`],
      ['year=cck_0123456789', `${years} an API key`],
      ['has_cover=yes', 'has_cover must be true or false, not "yes"'],
      ['platform=nes,', platforms],
      ['platform=1,2,3,4,5,6,7,8,9', platforms],
    ]) {
      expect(faultOf(() => readSearch(String(query)))).toBe(fault);
    }
    const facets = (text: string) => facetsOf(readParameters(text, SEARCH_PARAMETERS));
    expect(facets('facets=year,platform,year')).toEqual(['platform', 'year']);
    expect(faultOf(() => facets('facets=year,title'))).toBe(
      'facets has "title". Allowed: platform, region, type, genre, year',
    );
  });

  test.each(['a', 'é', '剣', '𠮷', '🎮'])(
    'may have 100 characters such as %s in q',
    (character) => {
      const q = (count: number) => `q=+${encodeURIComponent(character.repeat(count))}%0A`;
      expect(readSearch(q(100)).query.sort).toBe('title_asc');
      const fault = 'q must be at most 100 characters long';
      for (const count of [101, 5_000]) expect(faultOf(() => readSearch(q(count)))).toBe(fault);
    },
  );
});

const LONG = (spaces: number) => `gzip,${' '.repeat(spaces)}`;

test.each([
  ['identity', '| deflate, zstd | *;q=0 | br;q=0 | gzip;q=0.000, br;q=0 | gzip;q=x'],
  ['identity', `gzip;q=0.5, identity | br;q=0.9, identity;q=1 | ${LONG(252)} | ${LONG(300)}`],
  ['gzip', 'gzip | GZip | x-gzip | gzip;q=0.001 | gzip, br;q=0.9 | br;q=0, * | gzip, identity'],
  ['gzip', 'gzip;level=9;q=0.5 | br;x=1;q=0.1, gzip;x=0;q=0.2 | br ; Q=0 , gzip ; q=1.0'],
  ['gzip', `deflate,gzip | *;q=0, gzip | identity;q=0.1, gzip;q=0.2 | ${LONG(251)}`],
  ['br', 'br | gzip, br | gzip, deflate, br, zstd | * | gzip;q=0.5, * | identity;q=0, *;q=0.1'],
  ['br', 'gzip;q=0.5, br;q=0.5 | BR;q=0.3 | , br, | gzip;q=0.8, br;q=0.9, identity;q=0.1'],
])('the response is encoded as %s if Accept-Encoding asks for it', (coding, fields) => {
  for (const field of fields.split(/ ?\| /)) expect(chooseCoding(field), field).toBe(coding);
  expect(chooseCoding(undefined)).toBe('identity');
});

test('If-None-Match matches any tag of its list, with a weak comparison', () => {
  for (const field of ['*', '"a"', 'W/"a"', '"b", "a"', '"b","a","c"', ' W/"b" ,\tW/"a"', ',"a"']) {
    expect(matchesEtag(field, '"a"'), field).toBe(true);
  }
  const others = '|a|"A"|"aa"|"b"|w/"a"|W/ "a"|"b, a"|"|**|"W/a"';
  for (const field of others.split('|')) expect(matchesEtag(field, '"a"'), field).toBe(false);
});
