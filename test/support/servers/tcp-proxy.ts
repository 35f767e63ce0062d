/**
 * A line between a program and its server that a test can cut or hold at any byte: it is handed the
 * server's port and a number of bytes, counted in both directions and over all connections.
 */
import { connect, createServer, type Socket } from 'node:net';

/** `end` and `reset` as a server or a firewall would; `silence`: open, and not a byte more. */
export type Cut = 'end' | 'reset' | 'silence';

export interface TcpProxy {
  readonly port: number;
  /** How many bytes went through so far. */
  bytes(): number;
  /** Resolves when the number of bytes is reached: nothing more goes through until it is said how. */
  readonly reached: Promise<void>;
  /** @param isForGood whether later connections meet the same */
  cut(how: Cut, isForGood: boolean): void;
  resume(): void;
  stop(): Promise<void>;
}

interface Side {
  readonly from: Socket;
  readonly to: Socket;
  /** What came while the line was held. */
  readonly waiting: Buffer[];
}

/** @param limit hold after so many bytes; the byte that follows has not gone through */
export async function startTcpProxy(
  serverPort: number,
  limit = Number.POSITIVE_INFINITY,
): Promise<TcpProxy> {
  const sides = new Set<Side>();
  let bytes = 0;
  let state: 'open' | 'held' | 'passed' = 'open';
  let later: Cut | undefined;
  let sayReached = () => {};
  const reached = new Promise<void>((resolve) => {
    sayReached = resolve;
  });

  function forward(side: Side, chunk: Buffer): void {
    if (state === 'held') {
      side.waiting.push(chunk);
      return;
    }
    const room = state === 'open' ? limit - bytes : chunk.length;
    const passing = chunk.subarray(0, Math.min(chunk.length, room));
    bytes += passing.length;
    if (passing.length > 0 && !side.to.write(passing)) {
      side.from.pause();
      side.to.once('drain', () => state !== 'held' && side.from.resume());
    }
    if (state !== 'open' || bytes < limit) return;
    state = 'held';
    if (passing.length < chunk.length) side.waiting.push(chunk.subarray(passing.length));
    for (const { from } of sides) from.pause();
    sayReached();
  }

  const end = (how: Cut) => {
    for (const { from } of sides) {
      if (how === 'end') from.end();
      if (how === 'reset') from.resetAndDestroy();
    }
  };

  function join(from: Socket, to: Socket): void {
    const side: Side = { from, to, waiting: [] };
    sides.add(side);
    from.on('data', (chunk) => forward(side, chunk as Buffer));
    from.on('end', () => state !== 'held' && to.end());
    // What the other end is told is what happened to this one.
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
    const upstream = connect(serverPort, '127.0.0.1');
    for (const socket of [client, upstream]) socket.setNoDelay(true);
    join(client, upstream);
    join(upstream, client);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port was given');

  return {
    port: address.port,
    bytes: () => bytes,
    reached,
    cut(how, isForGood) {
      if (isForGood) later = how;
      end(how);
      // Connections of later go through again.
      state = how === 'silence' ? 'held' : 'passed';
    },
    resume() {
      state = 'passed';
      for (const side of sides) {
        for (const chunk of side.waiting.splice(0)) forward(side, chunk);
        side.from.resume();
      }
    },
    async stop() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const { from } of sides) from.destroy();
      await closed;
    },
  };
}
