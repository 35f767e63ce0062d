/**
 * Ends what a client leaves unfinished: a body that nobody read must not be taken for the next
 * request, and a response that the client does not take must not keep its connection.
 */
import type { IncomingMessage } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import { createMiddleware } from 'hono/factory';

/** A response that no client has taken after this is given up. */
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
