/** `npm run demo:fleet`: shows two proxies that share limits and snapshots, and leaves nothing behind. */
import { readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { until } from '#test/soak/support/until.ts';
import { end, makeFolder, send, startProgram } from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';

test('starts a fleet that serves, shows it, and ends everything that it started', async () => {
  const port = await freePort();
  const folder = makeFolder();
  const demo = startProgram('demo/fleet/main.ts', [], { PORT: String(port), TMPDIR: folder });
  let stdout = '';
  let stderr = '';
  demo.stdout?.setEncoding('utf8').on('data', (text) => {
    stdout += text;
  });
  demo.stderr?.setEncoding('utf8').on('data', (text) => {
    stderr += text;
  });
  const isServed =
    /^published (\S+)\n {2}proxy 1: \1, limits shared, [1-9]\d* admitted.*\n {2}proxy 2: \1, limits shared, [1-9]/m;
  await until(() => stderr.includes('nginx'));
  await until(() => stdout.includes('curl'));
  await until(() => isServed.test(stdout));
  const [, field, sent, url] = /^curl -i -H '(.+): (.+)' (\S+)$/m.exec(stdout) as string[];
  const reply = await send(url, { headers: { [field]: sent } });
  expect([reply.status, reply.json.title]).toEqual([200, 'Chrono Trigger']);
  expect(reply.headers['x-ratelimit-limit']).toBe('120');
  expect(readdirSync(folder)).toHaveLength(1);

  expect(await end(demo, 'SIGTERM')).toBe(0);
  expect(readdirSync(folder)).toEqual([]);
  await expect(send(url)).rejects.toThrow();
});
