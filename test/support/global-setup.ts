/**
 * Starts what all test files share when one of them first asks for it (`shared.ts`), and ends it after the
 * last one.
 */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chromium } from 'playwright-core';
import type { TestProject } from 'vitest/node';
import { makeSample } from '#test/catalogue/make-sample.ts';
import { startDatabaseServer } from './servers/database-server.ts';
import { startRedis } from './servers/redis.ts';
import type { Shared } from './shared.ts';

declare module 'vitest' {
  interface ProvidedContext {
    /** The address of the server that starts the parts. */
    shared: string;
  }
}

/** Without the network flags, Chromium contacts its vendor at every start. */
const CHROMIUM = {
  executablePath: '/usr/bin/chromium',
  args: [
    ...['--headless', '--no-sandbox', '--disable-gpu', '--disable-quic', '--disable-dev-shm-usage'],
    ...['--no-first-run', '--disable-background-networking', '--disable-component-update'],
    '--disable-sync',
  ],
};

interface Started<Part> {
  readonly part: Part;
  end(): unknown;
}

const START: { readonly [Name in keyof Shared]: () => Promise<Started<Shared[Name]>> } = {
  async databaseServer() {
    const { port, stop } = await startDatabaseServer();
    return { part: { port }, end: stop };
  },
  async redis() {
    const { port, url, stop } = await startRedis();
    return { part: { port, url }, end: stop };
  },
  async chromium() {
    const server = await chromium.launchServer(CHROMIUM);
    return { part: { endpoint: server.wsEndpoint() }, end: () => server.close() };
  },
  async sample() {
    const { remove, ...part } = await makeSample();
    return { part, end: remove };
  },
};

const started = new Map<string, Promise<Started<unknown>>>();
const server = createServer(async (request, response) => {
  // A process that is late would otherwise send its next request on a connection that is about to be closed.
  response.setHeader('Connection', 'close');
  const name = request.url?.slice(1) as keyof Shared;
  let part = started.get(name);
  if (part === undefined) {
    part = START[name]();
    started.set(name, part);
  }
  try {
    response.end(JSON.stringify((await part).part));
  } catch (error) {
    response.writeHead(500).end((error as Error).stack);
  }
});

export async function setup(project: TestProject): Promise<void> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  project.provide('shared', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

export async function teardown(): Promise<void> {
  server.close();
  server.closeAllConnections();
  for (const part of await Promise.allSettled(started.values())) {
    if (part.status === 'fulfilled') await part.value.end();
  }
}
