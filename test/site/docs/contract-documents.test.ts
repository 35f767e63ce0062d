/** The contract as programs read it, for the sample and for a catalogue that has none of its names. */
import { load } from 'js-yaml';
import { describe, expect, test } from 'vitest';
import { otherCatalogue } from '#test/catalogue/plain.ts';
import { makeSampleSnapshots, makeSnapshots } from '#test/catalogue/snapshots.ts';
import { readContract } from '#test/support/openapi.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';
import { type Collection, replayCollection } from './replay.ts';

const PUBLIC_URL = 'https://api.covers.example';
const key = testKey(1);
const serve = (snapshotsDir: string) => startProxy(snapshotsDir, { PUBLIC_URL }, NEVER);
const sample = await serve(await makeSampleSnapshots([key]));
const other = await serve(await makeSnapshots(otherCatalogue(), [key]));

async function read(proxy: typeof sample, path: string, type: string): Promise<string> {
  const response = await fetch(proxy.url + path, { headers: { Origin: 'https://a.example' } });
  expect(response.status).toBe(200);
  expect(response.headers.get('content-type')).toBe(`${type}; charset=utf-8`);
  expect(response.headers.get('access-control-allow-origin')).toBe('*');
  return response.text();
}

test('/openapi.json is the contract with an absolute address, if the catalogue has its examples', async () => {
  const served = JSON.parse(await read(sample, '/openapi.json', 'application/json'));
  const { paths, components, ...others } = readContract();
  expect(served).toMatchObject({ ...others, servers: [{ url: `${PUBLIC_URL}/api/v1` }] });
  expect(Object.keys(served.paths)).toEqual(Object.keys(paths as object));
  expect(served.components.schemas).toEqual((components as typeof served).schemas);
  expect(served.components.parameters.GameIds.example).toEqual([
    expect.any(Number),
    expect.any(Number),
  ]);
});

describe.each([
  ['the sample', sample],
  ['a catalogue without any name of it', other],
])('of %s', (_, proxy) => {
  test('/openapi.yaml says the same as /openapi.json', async () => {
    const yaml = await read(proxy, '/openapi.yaml', 'application/yaml');
    const json = JSON.parse(await read(proxy, '/openapi.json', 'application/json'));
    expect(load(yaml)).toEqual(json);
    expect(yaml + JSON.stringify(json)).not.toContain('{example:');
  });

  test('every request of /collection.json succeeds as it is, once the key is set', async () => {
    const text = await read(proxy, '/collection.json', 'application/json');
    const collection: Collection = JSON.parse(text);
    const replies = await replayCollection(collection, `${proxy.url}/api/v1`, key.key);
    expect(replies.length).toBe(Object.keys(readContract().paths as object).length);
    expect(replies.filter(({ status }) => status !== 200)).toEqual([]);
    const { match } = JSON.parse(replies.find(({ name }) => /files/.test(name))?.text ?? '')
      .data[0];
    expect(match).toBe('exact');
  });
});
