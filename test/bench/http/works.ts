/** The requests of the benchmark, the servers that can answer them, and a check that they agree. */
import { isDeepStrictEqual } from 'node:util';
import { request } from 'undici';
import { UNAUTHORIZED } from './nginx.ts';
import type { AddressList, Prepared } from './prepare.ts';
import type { Server, ServerName } from './servers.ts';

export interface Work {
  readonly id: string;
  readonly title: string;
  readonly servers: readonly ServerName[];
  /** The path that is requested repeatedly, or an example from the list if there is one. */
  readonly target: string;
  readonly list?: AddressList;
  /** The number of kept-alive connections, each with one request under way. */
  readonly connections: number;
  readonly isGzip?: boolean;
  readonly isConditional?: boolean;
  readonly isKeyless?: boolean;
  readonly status: 200 | 304 | 401;
}

const CONNECTIONS = 64;
/** A live search takes so long that more connections would only queue. */
const SEARCH_CONNECTIONS = 8;
const STATIC: readonly ServerName[] = ['product', 'nginx', 'authRequest', 'fastify', 'express'];
const LIMITS: readonly ServerName[] = ['product', 'nginx'];
const ALL: readonly ServerName[] = [...STATIC, 'live'];
const WITH_GZIP: readonly ServerName[] = ['product', 'nginx', 'authRequest', 'fastify'];
const WITH_SEARCH: readonly ServerName[] = ['product', 'live'];

export function worksOf(prepared: Prepared): Work[] {
  const { game, page, longPage, coverPage, recent, search } = prepared;
  const { games, coverPages, batches, searches } = prepared;
  const work = (id: string, title: string, target: string, servers: readonly ServerName[]) => ({
    ...{ id, title, target, servers, connections: CONNECTIONS, status: 200 as const },
  });
  const listed = (
    id: string,
    title: string,
    list: AddressList,
    servers: readonly ServerName[],
  ) => ({
    ...work(id, `${list.length} ${title}`, list.first, servers),
    list,
  });
  const few = { connections: SEARCH_CONNECTIONS };
  const gzip = { isGzip: true };
  return [
    work('game', 'one game', game, ALL),
    listed('games', 'different games in random order', games, ALL),
    work('page', 'a page of 50 games', page, ALL),
    { ...work('pageGzip', 'a page of 50 games, gzip', page, WITH_GZIP), ...gzip },
    work('longPage', 'a page of 50 long games', longPage, LIMITS),
    { ...work('longPageGzip', 'a page of 50 long games, gzip', longPage, LIMITS), ...gzip },
    work('coverPage', 'a page of 50 games with covers', coverPage, LIMITS),
    listed('coverPages', 'different pages of 50 games with covers', coverPages, ['product']),
    listed('batches', 'different batches of 100 games', batches, ['product']),
    work('recent', '`/covers/recent`', recent, ALL),
    { ...work('recentGzip', '`/covers/recent`, gzip', recent, WITH_GZIP), ...gzip },
    { ...work('notModified', 'one game, 304', game, STATIC), isConditional: true, status: 304 },
    {
      ...work('unauthorized', 'one game without a key, 401', game, STATIC),
      ...{ isKeyless: true, status: 401 },
    },
    { ...work('search', '`/search`, one cached query', search, WITH_SEARCH), ...few },
    { ...listed('searches', 'different queries of `/search`', searches, WITH_SEARCH), ...few },
  ];
}

/** The request of a work to one server. */
export interface Task {
  readonly url: string;
  readonly headers: Record<string, string>;
}

/**
 * Sends the request to a server once and compares the response with the product's.
 * @throws Error if the status or the body is wrong
 */
export async function makeTask(
  work: Work,
  name: ServerName,
  server: Server,
  product: Server,
  key: string,
): Promise<Task> {
  const headers: Record<string, string> = {};
  if (!work.isKeyless) headers['X-Api-Key'] = key;
  if (work.isGzip) headers['Accept-Encoding'] = 'gzip';
  // nginx without auth_request does not check keys.
  const isFixed = work.isKeyless && name === 'nginx';
  const url = server.url + (isFixed ? UNAUTHORIZED : work.target);
  if (work.isConditional) {
    const { etag } = (await sendRequest({ url, headers })).headers;
    if (typeof etag !== 'string') throw new Error(`${name} sends no ETag for "${work.title}".`);
    headers['If-None-Match'] = etag;
  }
  const task = { url, headers };
  await checkStatus(work, name, task);
  if (work.status === 200 && name !== 'product') {
    const found = await sendRequest(task);
    const wanted = await sendRequest({ url: product.url + work.target, headers });
    if (!agree(work, name, found.bytes, wanted.bytes)) {
      throw new Error(
        `${name} answers "${work.title}" differently from the product:\n${found.bytes.subarray(0, 2000)}`,
      );
    }
  }
  return task;
}

/** @throws Error if the server does not answer the work with its status */
export async function checkStatus(
  { title, status }: Work,
  name: string,
  task: Task,
): Promise<void> {
  const reply = await sendRequest(task);
  if (reply.status === status) return;
  throw new Error(`${name} answers "${title}" with ${reply.status}, not ${status}.`);
}

/** Sends one request, without decoding the body. */
export async function sendRequest({ url, headers }: Task) {
  const reply = await request(url, { headers });
  const bytes = Buffer.from(await reply.body.arrayBuffer());
  return { status: reply.statusCode, headers: reply.headers, bytes };
}

/** Whether the bytes are equal; for the live query the data, or its amount if collations differ. */
function agree({ id }: Work, name: ServerName, found: Buffer, wanted: Buffer): boolean {
  if (name !== 'live') return found.equals(wanted);
  const [a, b] = [found, wanted].map((bytes) => JSON.parse(bytes.toString()));
  if (id === 'searches' || id === 'search') return a.total > 0 && a.data.length > 0;
  if (id === 'page') return a.total === b.total && a.data.length === b.data.length;
  return isDeepStrictEqual(a, b);
}
