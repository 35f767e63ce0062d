/** What the explorer does when a call of the API fails. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { withExplorer } from '../../../proxy/explore/explorer.ts';
import { errorPage } from '../../../proxy/explore/pages/message-pages.ts';
import type { ApiHandler } from '../../../proxy/http/message/responder.ts';
import { send, testKey } from '../../support/product.ts';

test.each<[string, ApiHandler]>([
  ['breaks off its response', (_, response) => response.destroy()],
  [
    'throws',
    () => {
      throw new Error('no such pack');
    },
  ],
])('if the API %s, visitors get a page with 500, and the log the cause', async (_, api) => {
  const lines: string[] = [];
  const log = pino({}, { write: (line: string) => lines.push(line) });
  const parts = { api, snapshots: { current: () => undefined }, publicUrl: '', log };
  const site = withExplorer(() => {}, { ...parts, explorerKey: testKey(1).key });
  const server = createServer((request, response) => site(request, response, '/explore'));
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const { port } = server.address() as AddressInfo;
    const { status, text } = await send(`http://127.0.0.1:${port}/explore?q=zelda`);
    expect(status).toBe(500);
    expect(text).toContain('Something went wrong');
    expect(text).not.toContain('pack');
    expect(lines.join()).toContain('a page of the explorer failed');
  } finally {
    server.close();
  }
});

test.each([
  [503, '600', 'Try again in 10 minutes.'],
  [503, '5', 'Try again in 5 seconds.'],
  [503, '1', 'Try again in 1 second.'],
  [429, '60', 'Try again in 60 seconds.'],
])('a page with %i and Retry-After %s says the same time', (status, seconds, expected) => {
  const header = (name: string) => (name === 'Retry-After' ? seconds : undefined);
  const { page, headers } = errorPage({ status, text: '', header }, false);
  expect(page.toString()).toContain(expected);
  expect(headers).toEqual(['Retry-After', seconds]);
});
