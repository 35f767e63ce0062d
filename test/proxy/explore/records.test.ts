/** How pages read the bodies of the API. */
import { expect, test } from 'vitest';
import { parseRecords } from '../../../proxy/explore/call-api.ts';

test('an id above 2^53 keeps its digits, and a text that looks like an id stays as it is', () => {
  const title = '"id":12345678901234567890, or \\"id":9';
  const body = `{"id":18446744073709551615,"title":${JSON.stringify(title)},"files":[{"id":7}]}`;
  expect(parseRecords(body)).toEqual({
    id: '18446744073709551615',
    title,
    files: [{ id: 7 }],
  });
});
