/** Waits until a condition holds; fails after a minute. Other tests than the soak wait for events instead. */
export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const end = performance.now() + 60_000;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('The condition did not hold within a minute.');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
