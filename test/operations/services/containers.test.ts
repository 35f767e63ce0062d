/** operations/container/: what the image contains, and, in the soak, the containers with podman. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import fastGlob from 'fast-glob';
import { load, YAML11_SCHEMA } from 'js-yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openDatabase } from '../../../database/open.ts';
import { loadCatalogue } from '../../catalogue/load.ts';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { IS_SOAK, printFigure } from '../../soak/rounds.ts';
import { makeFolder, ROOT, send, until } from '../../support/product.ts';
import { type MariaDb, startMariaDb } from '../../support/servers/mariadb.ts';
import { freePort } from '../../support/servers/ports.ts';
import { commandsFrom } from './document-commands.ts';
import { BASE, makeBaseImages, NPM_BASE, type Podman, startPodman } from './podman.ts';

const read = (file: string) => readFileSync(path.join(ROOT, file), 'utf8');
interface Compose {
  readonly services: Readonly<
    Record<
      string,
      {
        readonly read_only: boolean;
        readonly cap_drop: readonly string[];
        readonly security_opt: readonly string[];
        readonly ports: readonly string[];
        readonly env_file: string;
      }
    >
  >;
}

const compose = load(read('operations/container/compose.yaml'), {
  // With `<<`, which merges mappings.
  schema: YAML11_SCHEMA,
}) as Compose;

test('the image gets every program, and everything that the programs import', () => {
  const copied = [...read('operations/container/Containerfile').matchAll(/^COPY (\w+) \1$/gm)];
  const folders = copied.map(([, folder]) => folder as string);
  expect(folders).toContain('bin');
  const programs = [...read('bin/cover-catalogue').matchAll(/ program=(\S+\.ts)/g)];
  expect(programs.length).toBeGreaterThan(5);
  const without = programs.filter(([, file = '']) => !folders.includes(file.split('/', 1)[0]));
  expect(without.map(([, file]) => file)).toEqual([]);
  const sources = fastGlob.sync(
    folders.map((folder) => `${folder}/**/*.ts`),
    { cwd: ROOT },
  );
  const imported = sources.flatMap((file) =>
    [...read(file).matchAll(/(?:from|import|URL\()\s*\(?'(\.[^']+)'/g)].map(([, specifier]) =>
      path.posix.join(path.posix.dirname(file), specifier as string),
    ),
  );
  const missing = imported.filter((file) => !folders.includes(file.split('/', 1)[0]));
  expect([...new Set(missing)].toSorted()).toEqual([
    'CHANGELOG.md',
    'openapi.yaml',
    'package.json',
  ]);
});

test.each(Object.keys(compose.services))(
  'the container of %s has no rights that it does not need',
  (name) => {
    const { read_only, cap_drop, security_opt, ports, env_file } = compose.services[name];
    expect({ read_only, cap_drop, security_opt }).toEqual({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    });
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:(\d+):\1$/);
    expect(read(`operations/environment/${env_file}`)).toContain('PUBLIC_URL=');
  },
);

describe.runIf(IS_SOAK && process.getuid?.() === 0)('with podman', () => {
  let podman: Podman;
  let server: MariaDb | undefined;
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

    server = await startMariaDb(['--bind-address=0.0.0.0']);
    const url = await server.createDatabase('site');
    const database = await openDatabase(url);
    await loadCatalogue(database, sampleCatalogue());
    await database.close();

    folder = path.join(makeFolder(), 'covers');
    const install = commandsFrom('install -d -m 700').replaceAll('/srv/cover-catalogue', folder);
    await podman.get(`cd ${ROOT}; ${install}`);
    const address = url.replace('127.0.0.1', 'host.containers.internal');
    for (const name of ['generator', 'account']) {
      await inCompose(`sed -i 's|^DATABASE_URL=.*|DATABASE_URL=${address}|' ${name}.env`);
    }
    ports = {};
    for (const port of ['8080', '8081', '9090', '9095', '9096']) {
      ports[port] = await freePort();
      await inCompose(`sed -i 's|127.0.0.1:${port}:|127.0.0.1:${ports[port]}:|' compose.yaml`);
    }
  }, 900_000);
  afterAll(() => server?.stop());

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
  }, 300_000);
});
