/** Reporting to systemd. That it restarts a program that hangs is tested in test/operations/services/services.test.ts. */
import { expect, test } from 'vitest';
import { makeFolder, startProxy, until } from '../../support/product.ts';

test('a proxy that cannot reach systemd warns and keeps serving', async () => {
  const proxy = await startProxy(makeFolder(), { NOTIFY_SOCKET: '/missing/notify' });
  await until(() => proxy.log().includes('systemd cannot be told that this program is ready'));
  expect((await proxy.readyz()).json.ready).toBe(false);
  expect(await proxy.stop()).toBe(0);
});

test('a proxy outside of systemd starts nothing', async () => {
  const proxy = await startProxy(makeFolder());
  expect((await proxy.readyz()).json.stopping).toBe(false);
  expect(await proxy.stop()).toBe(0);
  expect(proxy.log()).not.toContain('systemd');
});
