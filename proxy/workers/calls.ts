/**
 * Calls of functions in another thread, by messages. Each side offers some functions by name; each has
 * one argument. Calls start in the order in which they are made.
 */
// biome-ignore lint/suspicious/noExplicitAny: each function has an argument of its own
type Functions = { readonly [Name in string]: (argument: any) => unknown };

/**
 * Calls a function of the other side. Errors arrive with their message, but without their class and code.
 * @throws Error of the function, or because the thread has ended
 */
export type Call<Theirs extends Functions> = <Name extends keyof Theirs & string>(
  name: Name,
  argument: Parameters<Theirs[Name]>[0],
) => Promise<Awaited<ReturnType<Theirs[Name]>>>;

/** A `Worker`, or the `parentPort` in one. */
interface Port {
  postMessage(message: Message): void;
  on(event: 'message', listener: (message: Message) => void): unknown;
  once(event: 'exit', listener: () => void): unknown;
}

type Message =
  | { readonly number: number; readonly name: string; readonly argument: unknown }
  | { readonly number: number; readonly value: unknown }
  | { readonly number: number; readonly error: unknown };

/** @param ours the functions that the other side may call, perhaps later */
export function makeCalls<Theirs extends Functions>(
  port: Port,
  ours: Functions | Promise<Functions> = {},
): Call<Theirs> {
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  let last = 0;

  async function onMessage(message: Message): Promise<void> {
    const { number } = message;
    if ('name' in message) {
      try {
        port.postMessage({ number, value: await (await ours)[message.name](message.argument) });
      } catch (error) {
        port.postMessage({ number, error });
      }
      return;
    }
    const call = waiting.get(number);
    waiting.delete(number);
    if ('error' in message) call?.reject(message.error);
    else call?.resolve(message.value);
  }

  function onEnd(): void {
    for (const call of waiting.values()) call.reject(new Error('The thread has ended.'));
    waiting.clear();
  }

  port.on('message', onMessage);
  port.once('exit', onEnd);
  return (name, argument) => {
    const call = Promise.withResolvers<unknown>();
    waiting.set(++last, call);
    port.postMessage({ number: last, name, argument });
    return call.promise as ReturnType<Call<Theirs>>;
  };
}
