/** The contract as others import it: what their converters make of it can be sent as it is. */
import { createRequire } from 'node:module';
import { expect, test } from 'vitest';
import { otherCatalogue } from '#test/catalogue/plain.ts';
import { makeSnapshots } from '#test/catalogue/snapshots.ts';
import { type Collection, replayCollection } from '#test/site/docs/replay.ts';
import { NEVER, startProxy, testKey } from '#test/support/product.ts';

const key = testKey(1);
const proxy = await startProxy(await makeSnapshots(otherCatalogue(), [key]), {}, NEVER);
const api = `${proxy.url}/api/v1`;
const read = async (path: string) => (await fetch(proxy.url + path)).json();
// Their packages are in a folder of their own: 200 of them, which are not part of the product.
const require = createRequire(new URL('import/', import.meta.url));

interface BrunoItem {
  readonly name: string;
  readonly items?: readonly BrunoItem[];
  readonly request?: {
    readonly method: string;
    readonly url: string;
    readonly params: readonly { name: string; value: string; type: string; enabled: boolean }[];
    readonly headers: readonly { name: string; value: string; enabled: boolean }[];
  };
}

/** What Bruno sends, in the form of Postman. */
function fromBruno({ items = [] }: { readonly items?: readonly BrunoItem[] }): Collection {
  const item = items.map((each) => {
    if (each.request === undefined) return { name: each.name, ...fromBruno(each) };
    const { method, url, params, headers } = each.request;
    const named = ({ name, value, enabled }: (typeof headers)[number]) => {
      return { key: name, value, disabled: !enabled };
    };
    const ofType = (type: string) => params.filter((one) => one.type === type).map(named);
    const [address = ''] = url.split('?');
    const path = address.replace('{{baseUrl}}/', '').split('/');
    const parts = { path, query: ofType('query'), variable: ofType('path') };
    return { name: each.name, request: { method, url: parts, header: headers.map(named) } };
  });
  return { item };
}

async function refusedOf(collection: Collection): Promise<string[]> {
  const replies = await replayCollection(collection, api, key.key);
  expect(replies).toHaveLength(17);
  return replies
    .filter(({ status }) => status < 200 || status > 299)
    .map(({ target, status, text }) => `${target} ${status} ${text}`);
}

test('with Bruno, each request succeeds', async () => {
  const { openApiToBruno } = require('@usebruno/converters');
  expect(await refusedOf(fromBruno(await openApiToBruno(await read('/openapi.json'))))).toEqual([]);
});

test('with Bruno, the collection is read as well', async () => {
  const { postmanToBruno } = require('@usebruno/converters');
  const converted = await postmanToBruno(await read('/collection.json'));
  expect(await refusedOf(fromBruno(converted.collection ?? converted))).toEqual([]);
});

test('with Postman, each request succeeds that needs no choice', async () => {
  const { convertV2 } = require('openapi-to-postmanv2');
  const contract = await read('/openapi.json');
  const options = { parametersResolution: 'Example', enableOptionalParameters: false };
  const collection = await new Promise<Collection>((resolve, reject) => {
    convertV2({ type: 'json', data: contract }, options, (error: Error, result: never) => {
      if (error) reject(error);
      else resolve((result as { output: [{ data: Collection }] }).output[0].data);
    });
  });
  // These need one of two parameters, which OpenAPI cannot say. The collection of this site has chosen.
  const choices = [expect.stringContaining('"ids"'), expect.stringContaining('"names"')];
  expect(await refusedOf(collection)).toEqual(choices);
});
