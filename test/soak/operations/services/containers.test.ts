/** The containers of operations/container/ with podman, built and run with the commands of operations/install.md. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import path from 'node:path';
import { pipeline } from 'node:stream';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure } from '#test/soak/rounds.ts';
import { until } from '#test/soak/support/until.ts';
import { startTied } from '#test/support/processes.ts';
import { finish, makeFolder, ROOT, send } from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { commandsFrom } from './document-commands.ts';

/** The two images that the Containerfile begins with. */
const BASE = 'localhost/debian';
const NPM_BASE = 'localhost/npm';

const CERTIFICATES = 'etc/ssl/certs/ca-certificates.crt';
// podman 4.3 does not run with both versions of cgroups.
const HOLD = `set -e
mount --make-rprivate /
if mountpoint -q /sys/fs/cgroup/unified; then umount /sys/fs/cgroup/unified; fi
exec sleep infinity`;
// Without the right to raise limits, podman cannot set its own.
const CONTAINERS_CONF = `[containers]
default_ulimits = ["nofile=1024:4096", "nproc=4096:4096"]
`;

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
}, 120_000);

interface Podman {
  /** Runs a script of the shell whose podman is this one. @returns its stdout */
  get(script: string): Promise<string>;
}

/** podman as root, with images and containers of its own in a temporary folder. */
async function startPodman(): Promise<Podman> {
  const folder = makeFolder();
  const inFolder = (name: string) => path.join(folder, name);
  const storage = `[storage]
driver = "overlay"
graphroot = "${inFolder('images')}"
runroot = "${inFolder('run')}"
`;
  writeFileSync(inFolder('containers.conf'), CONTAINERS_CONF);
  writeFileSync(inFolder('storage.conf'), storage);
  const holder = await startTied(['unshare', '-m', 'sh', '-c', HOLD], { signal: 'KILL' });
  const environment = {
    CONTAINERS_CONF: inFolder('containers.conf'),
    CONTAINERS_STORAGE_CONF: inFolder('storage.conf'),
  };

  async function get(script: string): Promise<string> {
    const inside = ['-t', String(holder.pid), '-m', 'sh', '-euc', script];
    const options = { env: { ...process.env, ...environment }, stdio: 'pipe' } as const;
    const { code, stdout, stderr } = await finish(spawn('nsenter', inside, options));
    if (code !== 0) throw new Error(`The script ended with ${code}: ${stderr}${stdout}`);
    return stdout.trimEnd();
  }

  ends.push(async () => {
    await get('podman rm --all --force; podman rmi --all --force; podman network prune --force');
    await holder.stop();
  });
  return { get };
}

/** Makes the two images, from the Debian mirror and this machine's npm. */
async function makeBaseImages(podman: Podman): Promise<void> {
  const folder = makeFolder();
  const inFolder = (name: string) => path.join(folder, name);
  await podman.get(`debootstrap --variant=minbase bookworm ${inFolder('debian')}
    rm -rf ${inFolder('debian')}/var/cache/apt/archives ${inFolder('debian')}/var/lib/apt/lists
    mkdir -p ${inFolder('debian')}/var/cache/apt/archives/partial
    tar -C ${inFolder('debian')} -c . | podman import - ${BASE}`);
  const npm = await podman.get('realpath "$(command -v npm)"');
  mkdirSync(inFolder('npm/usr/bin'), { recursive: true });
  copyFileSync(realpathSync(process.execPath), inFolder('npm/usr/bin/node'));
  cpSync(path.dirname(path.dirname(npm)), inFolder('npm/usr/lib/npm'), { recursive: true });
  symlinkSync('../lib/npm/bin/npm-cli.js', inFolder('npm/usr/bin/npm'));
  // For a machine whose certificates include one of its own.
  mkdirSync(path.dirname(inFolder(`npm/${CERTIFICATES}`)), { recursive: true });
  copyFileSync(`/${CERTIFICATES}`, inFolder(`npm/${CERTIFICATES}`));
  writeFileSync(
    inFolder('Containerfile'),
    `FROM ${BASE}
RUN apt-get update && apt-get install --yes --no-install-recommends libatomic1
COPY npm /
ENV NODE_EXTRA_CA_CERTS=/${CERTIFICATES}
`,
  );
  await podman.get(`podman build --network host -t ${NPM_BASE} ${folder}`);
}

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

    const url = await makeLoaded('mysql', sampleCatalogue());

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
      expect(await inCompose(`podman logs ${container} 2>&1`)).not.toMatch(
        /"level":"(?:warn|error|fatal)"/,
      );
    }
  });
});
