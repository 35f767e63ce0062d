/**
 * A simulated Redis with the links to it. A server can crash, lose its memory, change its clock, or be
 * replaced by another one that has missed the last writes; a link can be slow, cut or silent.
 */
import type { StoreConnection } from '../../../../../proxy/limits/shared/connection.ts';
import type { Random } from '../../../../catalogue/random.ts';
import {
  copyMemory,
  emptyMemory,
  runModel,
  type StoreMemory,
} from '../../../../proxy/limits/shared/model-store.ts';
import type { Scheduler } from '../scheduler.ts';

const RECONNECT_MS = 100;
/** How long a server without its replica still accepts writes, as with `min-replicas-max-lag 10`. */
const LONGEST_ALONE_MS = 10_000;

export interface Server {
  readonly id: string;
  memory: StoreMemory;
  /** How far its clock is ahead of the true time, in milliseconds, and how much faster it runs. */
  offset: number;
  readonly drift: number;
  isUp: boolean;
  /** Since when it has no replica; undefined if it is the primary. */
  aloneSince: number | undefined;
}

/** The link between one proxy and the servers. */
export interface Link {
  /** "silent": everything is lost. "cut": connections are closed, and new ones fail. */
  state: 'up' | 'silent' | 'cut';
  /** The longest time of a message on its way, in milliseconds. */
  latency: number;
  readonly usualLatency: number;
}

export interface Network {
  /** The server that new connections lead to. */
  primary(): Server;
  /** When the store processed the command whose reply is being handled now, in true time. */
  processedAt(): number;
  connect(link: Link, isPaused: () => number): StoreConnection & { crash(): void };
  /** Ends the server. It loses its memory if it is started again. */
  crash(): void;
  restart(): void;
  /** Replaces the server by one with an earlier state of its memory. The old one may live on. */
  failOver(memory: StoreMemory, offset: number, isPartitioned: boolean): void;
  snapshot(): StoreMemory;
}

export function makeNetwork(scheduler: Scheduler, random: Random): Network {
  const { now, after } = scheduler;
  let servers = 0;
  let processedAt = 0;
  let primary = newServer(emptyMemory(), (random.next() - 0.5) * 1e7);
  const drops = new Map<Server, Set<() => void>>();

  function newServer(memory: StoreMemory, offset: number): Server {
    const drift = (random.next() - 0.5) * 2e-4;
    const id = `server${++servers}`;
    return { id, memory, offset, drift, isUp: true, aloneSince: undefined };
  }

  function timeOf({ offset, drift }: Server): number {
    return Math.floor((1e12 + now() * (1 + drift) + offset) * 1000);
  }

  function dropAll(server: Server): void {
    for (const drop of drops.get(server) ?? []) drop();
  }

  function connect(link: Link, isPaused: () => number): StoreConnection & { crash(): void } {
    let server: Server | undefined;
    let lastArrival = 0;
    let lastDelivery = 0;
    let isClosed = false;
    const pending = new Set<(error: Error) => void>();
    const delay = () => 0.05 + random.next() * link.latency;

    function drop(): void {
      if (server !== undefined) drops.get(server)?.delete(drop);
      server = undefined;
      for (const reject of pending) reject(new Error('the connection was closed'));
      pending.clear();
      if (!isClosed) after(RECONNECT_MS * (0.5 + random.next()), tryConnect);
    }

    function tryConnect(): void {
      if (isClosed || server !== undefined) return;
      if (link.state === 'up' && primary.isUp && now() >= isPaused()) {
        server = primary;
        const known = drops.get(server) ?? new Set();
        drops.set(server, known.add(drop));
      } else after(RECONNECT_MS, tryConnect);
    }
    after(delay() * 3, tryConnect);

    function deliver(work: () => void): void {
      const paused = isPaused();
      if (now() < paused) after(paused - now(), () => deliver(work));
      else work();
    }

    return {
      server: () => server?.id,
      fault: () => (server === undefined ? 'not connected' : undefined),
      run(script, keys, args) {
        const target = server;
        if (target === undefined) return Promise.reject(new Error('not connected'));
        return new Promise((resolve, reject) => {
          pending.add(reject);
          lastArrival = Math.max(lastArrival, now() + delay());
          after(lastArrival - now(), () => {
            if (link.state !== 'up' || !target.isUp) return;
            const at = now();
            const alone = target.aloneSince;
            const isReadOnly = alone !== undefined && at - alone > LONGEST_ALONE_MS;
            const reply = isReadOnly
              ? undefined
              : runModel(target.memory, script, keys, args, timeOf(target));
            lastDelivery = Math.max(lastDelivery, at + delay());
            after(lastDelivery - at, () => {
              if (link.state !== 'up' || !pending.has(reject)) return;
              deliver(() => {
                if (!pending.delete(reject)) return;
                processedAt = at;
                if (reply === undefined) reject(new Error('NOREPLICAS'));
                else resolve(reply);
              });
            });
          });
        });
      },
      reset: drop,
      close() {
        isClosed = true;
        drop();
      },
      crash() {
        isClosed = true;
        pending.clear();
        if (server !== undefined) drops.get(server)?.delete(drop);
      },
    };
  }

  return {
    primary: () => primary,
    processedAt: () => processedAt,
    connect,
    crash() {
      primary.isUp = false;
      dropAll(primary);
    },
    restart() {
      if (!primary.isUp) primary = newServer(emptyMemory(), primary.offset);
    },
    failOver(memory, offset, isPartitioned) {
      const old = primary;
      primary = newServer(memory, offset);
      old.aloneSince = now();
      if (isPartitioned) return;
      old.isUp = false;
      dropAll(old);
    },
    snapshot: () => copyMemory(primary.memory),
  };
}
