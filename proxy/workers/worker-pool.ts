/**
 * The other serving threads of a proxy. Each listens on the same port; keys, limits, counts and the
 * files of generations are the first thread's, in memory that all share.
 */
import { once } from 'node:events';
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { SharedKey } from '../keys/key-table.ts';
import type { GenerationStore } from '../snapshot/generation-store.ts';
import type { OpenedFiles } from '../snapshot/open-files.ts';
import type { ServingThread } from '../snapshot/thread-generations.ts';

/** What a peer is started with. */
export interface PeerData {
  readonly number: number;
  /** Of the address limits and of the peer's request counts. */
  readonly addresses: SharedArrayBuffer;
  readonly counts: Float64Array;
  /** How many connections it may have, and has. */
  readonly connections: Float64Array;
  /** All keys, whenever they changed. */
  readonly keys: MessagePort;
}

/** From a peer, which listens or has closed, asks for a generation, or has forgotten one. */
export type FromPeer =
  | { readonly state: 'listening' | 'closed' }
  | { readonly ask: string }
  | { readonly forgotten: string };

/** To a peer. */
export type ToPeer =
  | { readonly order: 'announce end' | 'close' }
  | { readonly listen: { readonly port: number; readonly host: string } }
  | { readonly serve: OpenedFiles }
  | { readonly opened: string; readonly files: OpenedFiles | 'gone' }
  | { readonly forget: string };

export interface Peers {
  announceKeys(keys: readonly SharedKey[]): void;
  /** Resolves when all listen on the first thread's port. */
  listen(port: number, host: string): Promise<void>;
  announceEnd(): void;
  /** Resolves when all have closed. */
  close(): Promise<void>;
}

/**
 * @param threads what each peer writes its counts to
 * @param fail called when a peer dies: the proxy must not go on with fewer threads than it was given
 */
export function startPeers(
  threads: readonly Pick<PeerData, 'counts' | 'connections'>[],
  addresses: SharedArrayBuffer,
  store: GenerationStore,
  fail: (error: Error) => void,
): Peers {
  const peers = threads.map((ofPeer, place) => {
    const { port1, port2 } = new MessageChannel();
    const data: PeerData = { ...ofPeer, number: place + 2, addresses, keys: port2 };
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: data,
      transferList: [port2],
    });
    worker.on('error', (error) => fail(error as Error));
    joinStore(worker, store);
    port1.unref();
    return { worker, keys: port1 };
  });

  const tell = (message: ToPeer) => {
    for (const { worker } of peers) worker.postMessage(message);
  };

  const allSay = (state: 'listening' | 'closed') =>
    Promise.all(
      peers.map(async ({ worker }) => {
        for (;;) {
          const [message] = (await once(worker, 'message')) as [FromPeer];
          if ('state' in message && message.state === state) return;
        }
      }),
    );

  return {
    announceKeys(keys) {
      for (const peer of peers) peer.keys.postMessage(keys);
    },
    async listen(port, host) {
      const all = allSay('listening');
      tell({ listen: { port, host } });
      await all;
    },
    announceEnd: () => tell({ order: 'announce end' }),
    async close() {
      const all = allSay('closed');
      tell({ order: 'close' });
      await all;
    },
  };
}

/** Makes a peer one of the threads that serve what the store opens. */
function joinStore(worker: Worker, store: GenerationStore): void {
  const say = (message: ToPeer) => worker.postMessage(message);
  // A peer answers orders to forget in the order in which it gets them.
  const forgetting: (() => void)[] = [];
  const thread: ServingThread = {
    serve: (files) => say({ serve: files }),
    opened: (id, files) => say({ opened: id, files }),
    forget: (id) =>
      new Promise((resolve) => {
        forgetting.push(resolve);
        say({ forget: id });
      }),
  };
  store.join(thread);
  worker.on('message', (message: FromPeer) => {
    if ('ask' in message) store.ask(message.ask, thread);
    else if ('forgotten' in message) forgetting.shift()?.();
  });
}
