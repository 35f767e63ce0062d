/** The time that nginx.conf gives a client for a request head, whatever it sends meanwhile. */
import { expect, test } from 'vitest';
import { openTls, SERVER_NAME, startNginx } from '../../../support/servers/nginx.ts';
import { freePort } from '../../../support/servers/ports.ts';
import { readToEnd } from '../../../support/servers/sockets.ts';

test('a client that sends its request head byte by byte is disconnected after ten seconds', async () => {
  const nginx = await startNginx(await freePort());
  const socket = await openTls(nginx);
  const start = performance.now();
  socket.write(`GET /api/v1/stats HTTP/1.1\r\nHost: ${SERVER_NAME}\r\nX-Slow: `);
  const drip = setInterval(() => socket.write('a'), 500);
  expect(await readToEnd(socket)).toBe('');
  clearInterval(drip);
  const seconds = (performance.now() - start) / 1000;
  expect(seconds).toBeGreaterThan(8);
  expect(seconds).toBeLessThan(20);
  await nginx.stop();
});
