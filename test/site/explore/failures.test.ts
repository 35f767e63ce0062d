/** What the explorer does when a call of the API fails or returns large ids, and one visitor opens many pages. */
import { BlockList } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { type ApiHandler, prepareError } from '#proxy/http/response.ts';
import { parseRecords } from '#site/docs/examples.ts';
import {
  type ExplorerParts,
  errorPage,
  makeExplorer,
  makeVisitorLimits,
} from '#site/explore/explorer.ts';
import { makeSiteHandler } from '#site/static/site-handler.ts';
import { FRAME } from '#test/support/pages.ts';
import { send, testKey } from '#test/support/product.ts';
import { serve } from '#test/support/servers/static-files.ts';

const trustedProxies = new BlockList();
trustedProxies.addAddress('127.0.0.1');

/** Serves the explorer. @returns its address, and what it logs */
async function serveExplorer(api: ApiHandler, changes: Partial<ExplorerParts> = {}) {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const explorer = makeExplorer({
    frame: FRAME,
    api,
    current: () => undefined,
    explorerKey: testKey(1).key,
    explorerLimit: () => 600,
    visitors: makeVisitorLimits(),
    trustedProxies,
    now: () => 0,
    publicUrl: '',
    log,
    ...changes,
  });
  const keys = { byHash: () => undefined };
  const site = makeSiteHandler({
    frame: FRAME,
    pageAt: () => undefined,
    others: [explorer],
    keys,
    log,
  });
  return { url: `${await serve((...of) => site(...of, '/explore'))}/explore`, lines };
}

test.each<[string, ApiHandler]>([
  ['breaks off its response', (_, response) => response.destroy()],
  [
    'throws',
    () => {
      throw new Error('no such pack');
    },
  ],
])('if the API %s, visitors get a page with 500, and the log the cause', async (_, api) => {
  const { url, lines } = await serveExplorer(api);
  const { status, text } = await send(`${url}?q=zelda`);
  expect(status).toBe(500);
  expect(text).toContain('Something went wrong');
  expect(text).not.toContain('pack');
  expect(lines.join()).toContain('a page of the explorer failed');
});

test('one visitor cannot use up EXPLORER_KEY, with or without a key', async () => {
  let calls = 0;
  let seconds = 0;
  const api: ApiHandler = (_, response) => {
    calls++;
    response.send(prepareError(404, 'Not found'));
  };
  let limit = 600;
  const { url } = await serveExplorer(api, {
    now: () => seconds * 1000,
    explorerLimit: () => limit,
  });
  const open = (address: string, headers: Readonly<Record<string, string>> = {}) =>
    send(url, { headers: { 'X-Forwarded-For': address, ...headers } });
  for (let i = 0; i < 120; i++) await open('2001:db8::1');
  expect(calls).toBe(120);
  seconds = 20;
  // Another address of the same network.
  const refused = await open('2001:db8::2');
  expect([refused.status, refused.headers['retry-after'], calls]).toEqual([429, '40', 120]);
  expect(refused.text).toContain('Try again in 40 seconds.');
  // Also with a key, which does not count here. Others go on.
  await open('2001:db8::1', { 'X-Api-Key': testKey(2).key });
  expect(calls).toBe(120);
  await open('2001:db8:0:1::1');
  expect(calls).toBe(121);
  seconds = 60;
  await open('2001:db8::1');
  expect(calls).toBe(122);
  // A quarter of a key with a low limit.
  limit = 20;
  for (let i = 0; i < 6; i++) await open('192.0.2.1');
  expect(calls).toBe(127);
});

test.each([
  [503, '600', 'Try again in 10 minutes.'],
  [503, '5', 'Try again in 5 seconds.'],
  [503, '1', 'Try again in 1 second.'],
  [429, '60', 'Try again in 60 seconds.'],
])('a page with %i and Retry-After %s says the same time', (status, seconds, expected) => {
  const header = (name: string) => (name === 'Retry-After' ? seconds : undefined);
  const { page, headers } = errorPage(FRAME, { status, text: '', header });
  expect(page.toString()).toContain(expected);
  expect(headers).toBe(`Retry-After: ${seconds}\r\n`);
});

test('an id above 2^53 keeps its digits, and a text that looks like an id stays as it is', () => {
  const title = '"id":12345678901234567890, or \\"id":9';
  const body = `{"id":18446744073709551615,"title":${JSON.stringify(title)},"files":[{"id":7}]}`;
  expect(parseRecords(body)).toEqual({ id: '18446744073709551615', title, files: [{ id: 7 }] });
});
