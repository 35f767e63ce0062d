/** What the access log shows of a request target: enough for an operator, and never a key. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { load } from 'js-yaml';
import { expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { makeKey } from '#lib/format/api-key.ts';
import { SHOWN_PARAMETERS, showMethod, showTarget } from '#proxy/serve/access-log/shown-target.ts';
import { makeTraceFinder } from '#test/support/key-traces.ts';
import { ROOT } from '#test/support/product.ts';

const key = makeKey();

test.each([
  ['/games/snes/chrono-trigger', '/api/v1/games/snes/chrono-trigger', ''],
  ['', '/api/v1', ''],
  ['/search?q=pok%C3%A9mon&page=2', '/api/v1/search', 'q=pok%C3%A9mon&page=2'],
  ['/search?q=50%&q=%zz', '/api/v1/search', 'q=50%&q=%zz'],
  ['/stats?token=abc&api-key=x&=y&secret', '/api/v1/stats', '…&…&…&…'],
  [`/${key}/covers`, '/api/v1/…/covers', ''],
  [`/games/x-${key.slice(4)}`, '/api/v1/games/x-…', ''],
  [`/search?q=a+${key}&${key}=1`, '/api/v1/search', 'q=a+…&…'],
  [`/search?q=%63ck%5F${key.slice(4)}%20b`, '/api/v1/search', 'q=… b'],
])('%s', (target, path, query) => {
  expect(showTarget(target)).toEqual({ path, query });
});

test.each([2, 8])('a text that is percent-encoded %i times is hidden', (most) => {
  let target = `/games/${key}`;
  for (let times = 0; times < most; times++) target = target.replaceAll(/[%c]/g, encode);
  expect(showTarget(target).path).toBe('/api/v1…');
});

test('a key in place of a method is hidden', () => {
  expect(['GET', 'ABC', key, key.slice(4)].map(showMethod)).toEqual(['GET', 'ABC', '…', '…']);
});

test('long targets are cut', () => {
  const { path, query } = showTarget(`/${'a-'.repeat(8_000)}?q=${'b+'.repeat(8_000)}`);
  expect([path.length, query.length]).toEqual([1_001, 1_001]);
});

test('a key anywhere, however it is encoded, leaves no trace', () => {
  const find = makeTraceFinder(key);
  const random = makeRandom(5);
  const parts = ['/games/', '/', '?q=', '&page=', '&', '=', '?', '%', '%25', '-', '+', 'snes', '.'];
  for (let round = 0; round < 5_000; round++) {
    let target = '/';
    const place = random.below(5);
    for (let part = 0; part < 5; part++) {
      target += random.pick(parts);
      if (part === place) target += encodeSome(key, random.below(3), random.below);
    }
    const shown = JSON.stringify(showTarget(target));
    expect(find(shown), `${target} as ${shown}`).toBe(undefined);
  }
});

interface Parameter {
  readonly $ref?: string;
  readonly in: string;
  readonly name: string;
}

interface Contract {
  readonly paths: Readonly<Record<string, { readonly get: { readonly parameters?: Parameter[] } }>>;
  readonly components: { readonly parameters: Readonly<Record<string, Parameter>> };
}

test('exactly those parameters are shown that the API has', () => {
  const contract = load(readFileSync(path.join(ROOT, 'openapi.yaml'), 'utf8')) as Contract;
  const shared = new Map(
    Object.entries(contract.components.parameters).map(([name, parameter]) => [
      `#/components/parameters/${name}`,
      parameter,
    ]),
  );
  const names = Object.values(contract.paths)
    .flatMap(({ get }) => get.parameters ?? [])
    .map((parameter) => shared.get(parameter.$ref ?? '') ?? parameter)
    .filter((parameter) => parameter.in === 'query')
    .map(({ name }) => name);
  expect([...SHOWN_PARAMETERS].sort()).toEqual([...new Set(names)].sort());
});

function encode(letter: string): string {
  return `%${letter.charCodeAt(0).toString(16)}`;
}

/** Percent-encodes some letters, several times. */
function encodeSome(text: string, times: number, below: (end: number) => number): string {
  let encoded = text;
  for (let time = 0; time < times; time++) {
    const share = 1 + below(3);
    encoded = encoded.replaceAll(/./g, (letter) =>
      below(share) === 0 || letter === '%' ? encode(letter) : letter,
    );
  }
  return encoded;
}
