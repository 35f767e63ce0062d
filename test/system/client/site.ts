/**
 * A website that uses the client: it serves one page and the installed packages, and forwards
 * `/api/v1` to the proxy, with the key, as the README recommends.
 */
import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { request } from 'undici';
import { serve } from '#test/support/servers/static-files.ts';

export interface SiteParts {
  readonly apiUrl: string;
  readonly key: string;
  /** Where the packages are installed. */
  readonly folder: string;
  /** Changes the status of a response of the API. */
  readonly statusOf?: (target: string) => number | undefined;
}

export interface Site {
  readonly url: string;
  /** Sets the page that `/` shows. */
  show(html: string): void;
}

const IMPORT_MAP = JSON.stringify({
  imports: {
    'cover-catalogue-client': '/node_modules/cover-catalogue-client/dist/client/index.js',
    'cover-catalogue-client/offline': '/node_modules/cover-catalogue-client/dist/client/offline.js',
    'openapi-fetch': '/node_modules/openapi-fetch/dist/index.mjs',
    minisearch: '/node_modules/minisearch/dist/es/index.js',
  },
});

export async function startSite({ apiUrl, key, folder, statusOf }: SiteParts): Promise<Site> {
  let html = '';

  async function forward(target: string, incoming: IncomingMessage, response: ServerResponse) {
    const { host, connection, ...headers } = incoming.headers;
    const authorization = `Bearer ${key}`;
    const found = await request(apiUrl + target, { headers: { ...headers, authorization } });
    const bytes = Buffer.from(await found.body.arrayBuffer());
    const changed = statusOf?.(target);
    if (changed === undefined) response.writeHead(found.statusCode, found.headers).end(bytes);
    else response.writeHead(changed).end('{"error":"Snapshot changed"}');
  }

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const target = incoming.url ?? '';
    if (target.startsWith('/api/v1/')) await forward(target, incoming, response);
    else if (target === '/') {
      const head = `<!doctype html><title>A page</title><script type="importmap">${IMPORT_MAP}</script>`;
      response.writeHead(200, { 'content-type': 'text/html; charset=utf-8' }).end(head + html);
    } else if (target.startsWith('/node_modules/')) {
      const text = readFileSync(path.join(folder, target));
      response.writeHead(200, { 'content-type': 'text/javascript' }).end(text);
    } else response.writeHead(204).end();
  }

  const url = await serve((incoming, response) => {
    answer(incoming, response).catch((error) => response.destroy(error));
  });
  return {
    url,
    show: (page) => {
      html = page;
    },
  };
}
