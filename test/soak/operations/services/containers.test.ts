/** The containers of operations/container/ with podman, built and run with the commands of OPERATIONS.md. */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { fillDatabase } from '#demo/catalogue/load.ts';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { until } from '#test/soak/support/until.ts';
import { makeDatabase } from '#test/support/databases.ts';
import { makeFolder, ROOT, send } from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { commandsFrom } from './document-commands.ts';
import { BASE, makeBaseImages, NPM_BASE, type Podman, startPodman } from './podman.ts';

describe.runIf(IS_FULL && process.getuid?.() === 0)('with podman', () => {
  let podman: Podman;
  let gate: Server | undefined;
  let folder: string;
  let ports: Record<string, number>;
  const inCompose = (script: string) => podman.get(`cd ${folder}; ${script}`);

  beforeAll(async () => {
    podman = await startPodman();
    await makeBaseImages(podman);
    const build = commandsFrom('podman build').replace(
      'podman build',
      `podman build --network host --build-arg BASE=${BASE} --build-arg NPM_BASE=${NPM_BASE}`,
    );
    await podman.get(`cd ${ROOT}; ${build}`);
    const size = await podman.get("podman image inspect --format '{{.Size}}' cover-catalogue");
    printFigure('containers', `the image has ${Math.round(Number(size) / 1e6)} MB`);

    const url = await makeDatabase('mysql');
    await fillDatabase(url, sampleCatalogue());

    folder = path.join(makeFolder(), 'covers');
    const install = commandsFrom('install -d -m 700').replaceAll('/srv/cover-catalogue', folder);
    await podman.get(`cd ${ROOT}; ${install}`);
    // The server listens on loopback, which containers cannot reach.
    const { port } = new URL(url);
    gate = createServer((socket) => {
      const onward = connect(Number(port), '127.0.0.1');
      pipeline(socket, onward, socket, () => {});
    });
    gate.listen(0, '0.0.0.0');
    await once(gate, 'listening');
    const { port: open } = gate.address() as AddressInfo;
    const address = url.replace(`127.0.0.1:${port}`, `host.containers.internal:${open}`);
    for (const name of ['generator', 'account']) {
      await inCompose(`sed -i 's|^DATABASE_URL=.*|DATABASE_URL=${address}|' ${name}.env`);
    }
    ports = {};
    for (const port of ['8080', '8081', '9090', '9095', '9096']) {
      ports[port] = await freePort();
      await inCompose(`sed -i 's|127.0.0.1:${port}:|127.0.0.1:${ports[port]}:|' compose.yaml`);
    }
  });
  afterAll(() => gate?.close());

  test('the containers serve a request, end cleanly, and continue', async () => {
    const started = await inCompose(commandsFrom('podman-compose up'));
    const key = /cck_\w+/.exec(started)?.[0] ?? '';
    const get = () =>
      send(`http://127.0.0.1:${ports['8080']}/api/v1/games/snes/chrono-trigger`, {
        headers: { 'x-api-key': key },
      }).catch(() => undefined);
    await until(async () => (await get())?.status === 200);
    const containers = (await inCompose("podman ps --format '{{.Names}}'")).split('\n');
    expect(containers).toHaveLength(3);
    for (const container of containers) {
      await until(() =>
        inCompose(`podman healthcheck run ${container}`).then(
          () => true,
          () => false,
        ),
      );
      const status = await inCompose(`podman exec ${container} cat /proc/1/status`);
      expect(status).toMatch(/^Uid:(\t10001){4}$/m);
      expect(status).toMatch(/^CapBnd:\t0+$/m);
      await expect(inCompose(`podman exec ${container} touch /opt/x`)).rejects.toThrow('Read-only');
    }
    const proxy = containers.find((name) => name.includes('proxy'));
    await expect(inCompose(`podman exec ${proxy} touch /srv/covers/snapshots/x`)).rejects.toThrow(
      'Read-only',
    );

    await inCompose('podman-compose stop');
    const ended = await inCompose("podman ps --all --format '{{.Status}}'");
    expect(ended.match(/^Exited \(0\)/gm)).toHaveLength(3);
    await inCompose('podman-compose start');
    await until(async () => (await get())?.status === 200);
    for (const container of containers) {
      expect(await inCompose(`podman logs ${container} 2>&1`)).not.toMatch(/"level":[456]0/);
    }
  });
});
