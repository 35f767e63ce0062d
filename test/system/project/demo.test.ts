/** `npm run demo` as a newcomer sees it. */
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import { makeVisitor, tokenOf } from '#test/support/account.ts';
import { makeLog } from '#test/support/log.ts';
import { end, send, startProgram } from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';

/** It starts four programs. */
const TIMEOUT_MS = 180_000;

test(
  'prints a key and a curl command that works, and when it ends, it stops every process it started',
  async () => {
    const port = await freePort();
    const adminPort = await freePort();
    const demo = startProgram('demo/main.ts', [], {
      PORT: String(port),
      ADMIN_PORT: String(adminPort),
      ACCOUNT_PORT: String(await freePort()),
    });
    const output = makeLog();
    const messages = makeLog();
    demo.stdout?.setEncoding('utf8').on('data', output.write);
    demo.stderr?.setEncoding('utf8').on('data', messages.write);
    demo.once('close', () => output.end(`The demo ended:\n${messages.text()}`));
    await output.logged('Press Ctrl-C');
    const stdout = output.text();
    const key = /^API key: (cck_\w+)$/m.exec(stdout)?.[1];
    const [, field, sent, url] = /^curl -H '(.+): (.+)' (\S+)$/m.exec(stdout) ?? [];
    expect(sent).toBe(`Bearer ${key}`);
    const reply = await send(url as string, { headers: { [field as string]: sent as string } });
    expect(reply.status).toBe(200);
    expect(reply.json.title).toBe('Chrono Trigger');
    expect(reply.headers['x-ratelimit-limit']).toBe('6000');
    expect(url).toContain(`:${port}/`);

    // The address of the explorer leads to a cover with an image in every size.
    const explore = /^Explore the covers: +(http\S+)$/m.exec(stdout)?.[1] ?? '';
    const page = await send(explore);
    expect(page.status).toBe(200);
    const game = /class="game" href="([^"]+)"/.exec(page.text)?.[1] ?? '';
    expect((await send(new URL(game, explore).href)).status).toBe(200);
    const { files } = (
      await send(`http://127.0.0.1:${port}/api/v1/covers/50001`, {
        headers: { 'x-api-key': key as string },
      })
    ).json;
    expect(files).toHaveLength(3);
    for (const { url, size_bytes, width, height, mime_type } of files) {
      const image = await send(url);
      expect([image.status, image.headers['content-type']]).toEqual([200, mime_type]);
      expect(image.bytes).toHaveLength(size_bytes);
      expect(image.text).toContain(`width="${width}" height="${height}"`);
    }

    // Each of the two links signs in to its account, through the port of the API.
    for (const [who, page] of [
      ['user', '/account/api-keys'],
      ['moderator', '/moderation/api-keys'],
    ] as const) {
      const link = new RegExp(`as a ${who},.* (http\\S+)$`, 'm').exec(stdout)?.[1] as string;
      expect(new URL(link).port).toBe(String(port));
      const visitor = makeVisitor(`http://127.0.0.1:${port}`);
      await visitor.get(link.slice(link.indexOf('/account')));
      const signedIn = await visitor.post('/account/sign-in/link', { link: tokenOf(link) });
      expect([signedIn.status, signedIn.headers.get('location')]).toEqual([303, page]);
      expect((await visitor.get(page)).status).toBe(200);
    }

    expect(messages.text()).not.toMatch(/warning|Left out|only this machine/i);
    const folder = /files are in (\S+)/.exec(stdout)?.[1] as string;
    expect(existsSync(folder)).toBe(true);
    expect(await end(demo, 'SIGTERM')).toBe(0);
    expect(existsSync(folder)).toBe(false);
    await expect(send(`http://127.0.0.1:${port}/`)).rejects.toThrow();
    await expect(send(`http://127.0.0.1:${adminPort}/healthz`)).rejects.toThrow();
  },
  TIMEOUT_MS,
);
