/** The reference says once what all operations have in common. */
import { expect, test } from 'vitest';
import { parseContract, resolveContract } from '#site/docs/contract.ts';
import { chooseExamples, showGeneration } from '#site/docs/examples.ts';
import { makeReference } from '#site/docs/reference.ts';

const contract = resolveContract(parseContract());
const operations = Object.values(contract.paths).map(({ get }) => get);

test('what all operations have in common is said once, and is true of each', async () => {
  const { render } = makeReference(contract, 'https://api.covers.example/api/v1');
  const page = await render(showGeneration(undefined, chooseExamples(undefined)));
  const text = page.toString();
  for (const once of [
    'The headers that scripts of other origins may read',
    'The id of this request in the logs',
  ]) {
    expect(text.split(once)).toHaveLength(2);
  }
  const [{ responses, parameters }] = operations;
  const sent = parameters.filter((each) => each.in === 'header').map(({ name }) => name);
  for (const operation of operations) {
    const headers = Object.keys(operation.responses['200']?.headers ?? {});
    // An archive is never compressed.
    if (operation.operationId === 'getSnapshotArchive') headers.push('Content-Encoding');
    expect(headers).toEqual(expect.arrayContaining(Object.keys(responses['200']?.headers ?? {})));
    expect(Object.keys(operation.responses)).toEqual(
      expect.arrayContaining(Object.keys(responses)),
    );
    expect(operation.parameters.map(({ name }) => name)).toEqual(expect.arrayContaining(sent));
  }
});
