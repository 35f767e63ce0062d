/** The recipe for RomM, run against a stub of its base class and the real API. */
import { execFile } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { makeFolder, NEVER, ROOT, startProxy, testKey } from '#test/support/product.ts';

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
const SCRIPT = `
import asyncio, json
from cover_catalogue_handler import CoverCatalogueHandler
async def main():
    handler = CoverCatalogueHandler()
    names = ["Chrono Trigger (USA).sfc", "Unheard Of.zip"]
    print(json.dumps([
        await handler.heartbeat(),
        await handler.get_platform("genesis"),
        await handler.get_platform("no-such"),
        await handler.get_roms(names, "sfam"),
        await handler.get_rom("クロノ・トリガー.smc", "snes"),
    ]))
asyncio.run(main())
`;

test('the handler for RomM finds platforms by its names, and games with covers', async () => {
  const key = testKey(1);
  const proxy = await startProxy(await makeSampleSnapshots([key]), {}, NEVER);
  const folder = makeFolder();
  const base = path.join(folder, 'handler/metadata');
  mkdirSync(base, { recursive: true });
  writeFileSync(path.join(base, 'base_handler.py'), STUB);
  const { stdout } = await promisify(execFile)('python3', ['-B', '-c', SCRIPT], {
    env: {
      PATH: process.env.PATH,
      PYTHONPATH: [folder, path.join(ROOT, 'client/examples/romm')].join(':'),
      COVER_CATALOGUE_URL: `${proxy.url}/api/v1`,
      COVER_CATALOGUE_KEY: key.key,
    },
  });
  const game = { name: 'Chrono Trigger', release_year: 1995 };
  const cover = { url_cover: expect.stringMatching(/^https:\/\//) };
  expect(JSON.parse(stdout)).toEqual([
    true,
    { slug: 'genesis', name: 'Mega Drive / Genesis' },
    {},
    [expect.objectContaining({ ...game, ...cover }), {}],
    expect.objectContaining(game),
  ]);
});
