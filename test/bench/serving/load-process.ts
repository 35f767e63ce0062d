/**
 * The process of a steady load: sends requests to the product and to the control at a fixed rate,
 * whether or not they answer, and measures each response from the moment its request was due. If this
 * process is late itself, the control's delays grow equally.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'undici';

const POLL_MS = 20;

export interface LoadOptions {
  readonly product: string;
  readonly control: string;
  readonly key: string;
  /** A file of paths to request from the product in turn. */
  readonly list: string;
  readonly perSecond: number;
  /** The number of connections to each of the two, used in turn. */
  readonly connections: number;
}

/** Responses in the order of their ends, in milliseconds of {@link clock}. */
export interface Samples {
  readonly due: Float64Array;
  readonly ended: Float64Array;
}

export interface Taken {
  readonly product: Samples;
  readonly control: Samples;
  /** When the last response from each generation ended. */
  readonly lastOf: ReadonlyMap<string, number>;
}

export interface SteadyLoad {
  /** Resolves after the first response from a generation since the last `take`. */
  sees(snapshot: string): Promise<void>;
  /**
   * Returns all requests since the last `take`, once their responses have arrived.
   * @throws Error if a response is missing or is not 200
   */
  take(): Promise<Taken>;
  stop(): Promise<void>;
}

type FromLoad = { readonly seen: string } | { readonly taken: Taken } | { readonly failed: string };

/** A clock that all processes of the machine share, in milliseconds. */
export function clock(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}

export function startLoad(options: LoadOptions): SteadyLoad {
  const child = fork(import.meta.filename, [JSON.stringify(options)], {
    serialization: 'advanced',
    execArgv: ['--max-semi-space-size=8'],
  });
  let failure: Error | undefined;
  let taken: Taken | undefined;
  const seen = new Set<string>();
  child.on('message', (message: FromLoad) => {
    if ('failed' in message) failure ??= new Error(message.failed);
    else if ('seen' in message) seen.add(message.seen);
    else taken = message.taken;
  });
  child.once('exit', (code) => {
    failure ??= new Error(`The load ended with ${code}.`);
  });
  async function until(isThere: () => boolean): Promise<void> {
    while (!isThere()) {
      if (failure !== undefined) throw failure;
      await sleep(POLL_MS);
    }
  }
  return {
    sees: (snapshot) => until(() => seen.has(snapshot)),
    async take() {
      taken = undefined;
      child.send('take');
      await until(() => taken !== undefined);
      if (failure !== undefined) throw failure;
      seen.clear();
      return taken as unknown as Taken;
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    },
  };
}

function runLoad({ product, control, key, list, perSecond, connections }: LoadOptions): void {
  const report = (message: FromLoad) => process.send?.(message);
  const paths = readFileSync(list, 'utf8').trimEnd().split('\n');
  const connect = (url: string) => Array.from({ length: connections }, () => new Client(url));
  const products = connect(product);
  const controls = connect(control);
  const headers = { 'x-api-key': key };
  const pending = new Set<Promise<void>>();
  let lastOf = new Map<string, number>();
  let productTimes = makeTimes();
  let controlTimes = makeTimes();

  async function sendRequest(client: Client, path: string, due: number, isProduct: boolean) {
    const request = async () => {
      const reply = await client.request({ method: 'GET', path, headers });
      await reply.body.dump({ limit: Number.MAX_SAFE_INTEGER });
      return reply;
    };
    // A server may close an idle connection just as it is used again, especially after the machine
    // has stalled for seconds. The request is then repeated, and its delay continues.
    const reply = await request().catch(request);
    const ended = clock();
    (isProduct ? productTimes : controlTimes).add(due, ended);
    if (reply.statusCode !== 200) throw new Error(`${path} was answered ${reply.statusCode}.`);
    if (!isProduct) return;
    const snapshot = String(reply.headers['x-snapshot']);
    if (!lastOf.has(snapshot)) report({ seen: snapshot });
    lastOf.set(snapshot, ended);
  }

  function send(client: Client, path: string, due: number, isProduct: boolean): void {
    const request = sendRequest(client, path, due, isProduct)
      .catch(({ message }: Error) => report({ failed: `Under load: ${message}` }))
      .finally(() => pending.delete(request)) as Promise<void>;
    pending.add(request);
  }

  const started = clock();
  const dueAt = (number: number) => started + (number * 1000) / perSecond;
  let number = 0;
  setInterval(() => {
    for (const now = clock(); dueAt(number) <= now; number++) {
      const index = number % connections;
      const path = paths[number % paths.length];
      send(products[index], path, dueAt(number), true);
      send(controls[index], '/', dueAt(number), false);
    }
  }, 1);

  process.on('message', async () => {
    await Promise.all(pending);
    report({ taken: { product: productTimes.all(), control: controlTimes.all(), lastOf } });
    productTimes = makeTimes();
    controlTimes = makeTimes();
    lastOf = new Map();
  });
  process.once('disconnect', () => process.exit());
}

function makeTimes() {
  const due: number[] = [];
  const ended: number[] = [];
  return {
    add(from: number, to: number): void {
      due.push(from);
      ended.push(to);
    },
    all: (): Samples => ({ due: Float64Array.from(due), ended: Float64Array.from(ended) }),
  };
}

if (import.meta.main) runLoad(JSON.parse(process.argv[2]));
