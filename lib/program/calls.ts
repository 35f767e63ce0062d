/**
 * Calls of functions in another thread, by messages. Each side offers some functions by name; each has
 * one argument. Calls start in the order in which they are made.
 */
import { Worker, type WorkerOptions } from 'node:worker_threads';
import { messageOf } from './failure.ts';

// biome-ignore lint/suspicious/noExplicitAny: each function has an argument of its own
type Functions = { readonly [Name in string]: (argument: any) => unknown };

/**
 * Calls a function of the other side. Errors arrive with their message, but without their class and code.
 * @throws Error of the function, or of the thread, or because the thread has ended
 */
export type Call<Theirs extends Functions> = <Name extends keyof Theirs & string>(
  name: Name,
  ...argument: Parameters<Theirs[Name]>
) => Promise<Awaited<ReturnType<Theirs[Name]>>>;

/** A call, if it has a name, or the answer to one. */
interface Message {
  readonly number: number;
  readonly name?: string;
  readonly value?: unknown;
  readonly error?: unknown;
}

/** A `Worker`, or the `parentPort` in one. */
interface Port {
  postMessage(message: Message): void;
  on(event: 'message', listener: (message: Message) => void): unknown;
  once(event: 'error', listener: (error: unknown) => void): unknown;
  once(event: 'exit', listener: () => void): unknown;
}

/**
 * @param ours the functions that the other side may call, perhaps later
 */
export function makeCalls<Theirs extends Functions>(
  port: Port,
  ours: Functions | Promise<Functions> = {},
): Call<Theirs> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;

  async function answer({ number, name = '', value: argument }: Message): Promise<void> {
    try {
      port.postMessage({ number, value: await (await ours)[name](argument) });
    } catch (error) {
      // The error itself may have what cannot be sent.
      port.postMessage({ number, error: new Error(messageOf(error)) });
    }
  }

  port.on('message', (message) => {
    if (message.name !== undefined) return void answer(message);
    const call = waiting.get(message.number);
    waiting.delete(message.number);
    if (message.error !== undefined) call?.reject(message.error);
    else call?.resolve(message.value);
  });

  function endWith(error: unknown): void {
    for (const call of waiting.values()) call.reject(error);
    waiting.clear();
  }

  port.once('error', endWith);
  port.once('exit', () => endWith(new Error('The thread has ended.')));
  return (name, value) => {
    const call = Promise.withResolvers<unknown>();
    waiting.set(++last, call);
    port.postMessage({ number: last, name, value });
    return call.promise as ReturnType<Call<Theirs>>;
  };
}

/**
 * A thread that starts with the first call and stays. One that has failed, for example for lack of memory,
 * is replaced at the next call.
 */
export function makeHelper<Theirs extends Functions>(program: URL, options: WorkerOptions) {
  let thread: { readonly worker: Worker; readonly call: Call<Theirs> } | undefined;

  function start() {
    const worker = new Worker(program, options);
    worker.once('exit', () => {
      thread = undefined;
    });
    return { worker, call: makeCalls<Theirs>(worker) };
  }

  const call: Call<Theirs> = (...call) => {
    thread ??= start();
    return thread.call(...call);
  };
  return { call, close: (): void => void thread?.worker.terminate() };
}
