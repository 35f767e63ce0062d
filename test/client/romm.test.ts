/** The recipe for RomM, run against a stub of its base class and the real API. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { request } from 'undici';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeFolder, NEVER, ROOT, startProxy, testKey } from '#test/support/product.ts';
import { serve } from '#test/support/servers/static-files.ts';

/** The part of RomM's class that handlers must have. */
const STUB = `
import abc
class MetadataHandler(abc.ABC):
    @classmethod
    @abc.abstractmethod
    def is_enabled(cls): ...
    @abc.abstractmethod
    async def heartbeat(self): ...
`;
const key = testKey(1);
const proxy = await startProxy(await makeSampleSnapshots([key]), {}, NEVER);

/** Runs an expression in Python with a handler. @returns its value */
async function evaluate(expression: string, url = proxy.url) {
  const folder = makeFolder();
  const base = path.join(folder, 'handler/metadata');
  mkdirSync(base, { recursive: true });
  writeFileSync(path.join(base, 'base_handler.py'), STUB);
  const script = `
import asyncio, json
from cover_catalogue_handler import CoverCatalogueHandler
async def main():
    handler = CoverCatalogueHandler()
    print(json.dumps(${expression}))
asyncio.run(main())
`;
  const { stdout } = await promisify(execFile)('python3', ['-B', '-c', script], {
    env: {
      PATH: process.env.PATH,
      PYTHONPATH: [folder, path.join(ROOT, 'client/examples/romm')].join(':'),
      COVER_CATALOGUE_URL: `${url}/api/v1`,
      COVER_CATALOGUE_KEY: key.key,
    },
  });
  return JSON.parse(stdout);
}

const chronoTrigger = expect.objectContaining({
  cover_catalogue_id: 1001,
  name: 'Chrono Trigger',
  release_year: 1995,
  url_cover: expect.stringMatching(/^https:\/\//),
});
const nothing = { cover_catalogue_id: null };

test('the handler for RomM finds platforms by its names, as RomM asks, and games with covers', async () => {
  const found = await evaluate(`[
    await handler.heartbeat(),
    handler.get_platform("genesis"),
    handler.get_platform("no-such"),
    await handler.get_roms(["Chrono Trigger (USA).sfc", "Unheard Of.zip"], "sfam"),
    await handler.get_rom("クロノ・トリガー.smc", "snes"),
  ]`);
  expect(found).toEqual([
    true,
    { slug: 'genesis', name: 'Mega Drive / Genesis', cover_catalogue_id: 'mega-drive' },
    { slug: 'no-such', cover_catalogue_id: null },
    [chronoTrigger, nothing],
    chronoTrigger,
  ]);
});

test('it raises no error: for no names, many, long ones, an unknown platform, no API', async () => {
  const found = await evaluate(`[
    await handler.get_roms([], "snes"),
    await handler.get_roms([f"Unheard Of {n}.zip" for n in range(120)] + ["Chrono Trigger.sfc"], "snes"),
    await handler.get_roms(["x" * 450, "", "Chrono Trigger.sfc", "Chrono Trigger.sfc"], "snes"),
    await handler.get_rom("Chrono Trigger.sfc", "no-such"),
    await handler.get_rom("a/b", "snes"),
  ]`);
  expect(found).toEqual([
    [],
    [...Array(120).fill(nothing), chronoTrigger],
    [nothing, nothing, chronoTrigger, chronoTrigger],
    nothing,
    nothing,
  ]);
  const away = 'http://127.0.0.1:9';
  const asked =
    '[await handler.heartbeat(), await handler.get_rom("a", "b"), handler.get_platform("snes")]';
  expect(await evaluate(asked, away)).toEqual([false, nothing, { slug: 'snes', ...nothing }]);
});

test('asked for all files at once, it waits for the limit and loses none', async () => {
  let [requests, underWay, most] = [0, 0, 0];
  const front = await serve(async ({ url = '', headers }, response) => {
    most = Math.max(most, ++underWay);
    requests++;
    const { host, connection, ...others } = headers;
    const found = await request(proxy.url + url, { headers: others });
    const body = Buffer.from(await found.body.arrayBuffer());
    underWay--;
    // Every third one is refused, as if others used the key.
    if (requests % 3 === 0) response.writeHead(429, { 'Retry-After': '0' }).end('{}');
    else response.writeHead(found.statusCode, found.headers).end(body);
  });
  const asked = `await asyncio.gather(*(handler.get_rom("Chrono Trigger.sfc", "snes") for _ in range(26)))`;
  expect(await evaluate(asked, front)).toEqual(Array(26).fill(chronoTrigger));
  expect([requests, most]).toEqual([38, 1]);
});
