/** The examples in openapi.yaml are what the real proxy responds for the sample catalogue. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { type JsonObject, readContract } from '../../support/openapi.ts';
import { type RunningProxy, startProxy, testKey, writeKeys } from '../../support/product.ts';

interface Example {
  readonly summary?: string;
  readonly value: JsonObject;
}

interface ErrorResponse {
  readonly content?: {
    readonly 'application/json': { readonly examples?: Record<string, Example> };
  };
}

const { components } = readContract() as unknown as {
  components: { examples: Record<string, Example>; responses: Record<string, ErrorResponse> };
};
const ofErrors = Object.values(components.responses).flatMap(({ content }) =>
  Object.values(content?.['application/json'].examples ?? {}),
);
const key = testKey(1);
let proxy: RunningProxy;

beforeAll(async () => {
  const snapshotsDir = await makeSampleSnapshots();
  writeKeys(snapshotsDir, [key]);
  proxy = await startProxy(snapshotsDir);
});

afterAll(() => proxy.stop());

/** What the summary of an example says: its request, and whether items are left out. */
function readSummary({ summary = '' }: Example) {
  const [, target, shortened] = /^GET (\/\S*?)(, the first two)?$/.exec(summary) ?? [];
  return { target, isShortened: shortened !== undefined };
}

/** Snapshots that exist only in the contract. */
const INVENTED = /^\/(?:changes|snapshot)\b/;
const examples = [...Object.values(components.examples), ...ofErrors]
  .map((example) => ({ ...readSummary(example), value: example.value }))
  .filter(({ target }) => target !== undefined && !INVENTED.test(target));

test('there are several, of records and of errors', () => {
  expect(Object.values(components.examples).map(readSummary)).not.toContainEqual(
    expect.objectContaining({ target: undefined }),
  );
  expect(examples.filter(({ value }) => 'error' in value).length).toBeGreaterThan(2);
  expect(examples.length).toBeGreaterThan(12);
});

test.each(examples)('$target', async ({ target = '', isShortened, value }) => {
  const { status, json } = await proxy.get(target, key.key);
  expect(status).toBe('error' in value ? 400 : 200);
  if (isShortened) {
    expect(json.data.length).toBeGreaterThan(2);
    json.data.length = 2;
  }
  // As text, because the order of members belongs to the contract.
  expect(JSON.stringify(value)).toBe(JSON.stringify(json));
});
