/**
 * Runs work for each item, a few at a time. After the first error, no further work is started.
 * @param onError called with the first error; may end the work that is under way, which is waited for
 */
export async function inParallel<T>(
  items: readonly T[],
  most: number,
  work: (item: T) => Promise<void>,
  onError: (error: unknown) => void = () => {},
): Promise<void> {
  const queue = items.values();
  const errors: unknown[] = [];
  async function runNext(): Promise<void> {
    for (const item of queue) {
      if (errors.length > 0) return;
      try {
        await work(item);
      } catch (error) {
        if (errors.push(error) === 1) onError(error);
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(most, items.length) }, runNext));
  if (errors.length > 0) throw errors[0];
}
