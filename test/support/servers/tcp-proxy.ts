/**
 * A TCP proxy between a program and its server that a test can cut or hold at any byte. Bytes are
 * counted in both directions and over all connections.
 */
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

/** `end` and `reset` close connections; `silence` leaves them open without passing any byte on. */
export type Cut = 'end' | 'reset' | 'silence';

export type TcpProxy = Awaited<ReturnType<typeof startTcpProxy>>;

interface Side {
  readonly from: Socket;
  readonly to: Socket;
}

/**
 * @param serverPort may be a function, for a server that is started later
 * @param limit the number of bytes to pass before holding
 * @param socketPath where to listen, instead of a free port
 */
export async function startTcpProxy(
  serverPort: number | (() => number),
  limit = Number.POSITIVE_INFINITY,
  socketPath?: string,
) {
  const sides = new Set<Side>();
  let bytes = 0;
  let state: 'open' | 'held' | 'passed' = 'open';
  let later: Cut | undefined;
  const reached = Promise.withResolvers<void>();

  function forward(side: Side, chunk: Buffer): void {
    if (state === 'held') return;
    const room = state === 'open' ? limit - bytes : chunk.length;
    const passing = chunk.subarray(0, Math.min(chunk.length, room));
    bytes += passing.length;
    if (passing.length > 0 && !side.to.write(passing)) {
      side.from.pause();
      side.to.once('drain', () => state !== 'held' && side.from.resume());
    }
    if (state !== 'open' || bytes < limit) return;
    state = 'held';
    for (const { from } of sides) from.pause();
    reached.resolve();
  }

  const end = (how: Cut) => {
    for (const { from } of sides) {
      if (how === 'end') from.end();
      if (how === 'reset') from.resetAndDestroy();
    }
  };

  function join(from: Socket, to: Socket): void {
    const side: Side = { from, to };
    sides.add(side);
    from.on('data', (chunk) => forward(side, chunk as Buffer));
    from.on('end', () => state !== 'held' && to.end());
    // Passes the error on to the other side.
    from.on('error', () => to.destroy());
    from.on('close', () => {
      sides.delete(side);
      if (state !== 'held') to.destroySoon();
    });
  }

  const server = createServer((client) => {
    if (later !== undefined) {
      client.on('error', () => {});
      if (later !== 'silence') client.destroy();
      return;
    }
    const upstream = connect(
      typeof serverPort === 'number' ? serverPort : serverPort(),
      '127.0.0.1',
    );
    for (const socket of [client, upstream]) socket.setNoDelay(true);
    join(client, upstream);
    join(upstream, client);
  });
  server.listen(socketPath === undefined ? { port: 0, host: '127.0.0.1' } : { path: socketPath });
  await once(server, 'listening');
  const address = server.address();

  return {
    port: typeof address === 'object' ? Number(address?.port) : 0,
    /** The number of bytes that passed so far. */
    bytes: () => bytes,
    /** Resolves when the limit is reached. No byte passes after it. */
    reached: reached.promise,
    /** @param isPermanent whether later connections are cut too */
    cut(how: Cut, isPermanent: boolean) {
      if (isPermanent) later = how;
      end(how);
      // Later connections pass again.
      state = how === 'silence' ? 'held' : 'passed';
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const { from } of sides) from.destroy();
      await closed;
    },
  };
}
