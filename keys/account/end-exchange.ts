/**
 * Handles clients that leave a request or response unfinished. If the server did not read the whole
 * body of a request, the connection is closed, so that the rest is not parsed as the next request. If
 * a client does not read its response, the connection is closed too.
 */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { createMiddleware } from 'hono/factory';

/** How long a client may take to read a response. */
const LONGEST_DRAIN_MS = 30_000;

export const endExchange = createMiddleware<{ Bindings: HttpBindings }>(async (c, next) => {
  await next();
  const { incoming, outgoing } = c.env;
  if (!incoming.complete && hasBody(incoming)) c.res.headers.set('Connection', 'close');
  const timer = setTimeout(() => outgoing.destroy(), LONGEST_DRAIN_MS);
  timer.unref();
  outgoing.once('close', () => clearTimeout(timer));
});

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
