/**
 * podman for tests, as root, with images and containers of its own in a temporary folder. Base images are
 * made with debootstrap, because tests reach no registry of images. It ends with the test file, or with
 * the process that started it.
 */
import { spawn } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll } from 'vitest';
import { startTied } from '#test/support/processes.ts';
import { finish, makeFolder } from '#test/support/product.ts';

/** The two images that the Containerfile begins with. */
export const BASE = 'localhost/debian';
export const NPM_BASE = 'localhost/npm';

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

export interface Podman {
  /** Runs a script of the shell whose podman is this one. @returns its stdout */
  get(script: string): Promise<string>;
}

export async function startPodman(): Promise<Podman> {
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
export async function makeBaseImages(podman: Podman): Promise<void> {
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
