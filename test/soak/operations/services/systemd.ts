/**
 * A booted systemd for tests: a container whose root is this
 * machine's, under a layer in memory that takes all changes. It has the product in /opt/cover-catalogue,
 * read-only, and this machine's network. It ends with the test file, or with the process that started it.
 */
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll } from 'vitest';
import { until } from '#test/soak/support/until.ts';
import { startTied, type TiedServer } from '#test/support/processes.ts';
import { type Finished, finish, makeFolder, ROOT } from '#test/support/product.ts';

/** In a mount namespace: makes $0/root. */
const MAKE_ROOT = `set -e
mount --make-rprivate /
mount -t tmpfs tmpfs "$0"
mkdir "$0/upper" "$0/work" "$0/root"
mount -t overlay -o "lowerdir=/,upperdir=$0/upper,workdir=$0/work" overlay "$0/root"
`;
// Services that this machine starts at boot do not start in the container.
const BOOT = `${MAKE_ROOT}
rm -rf "$0"/root/etc/systemd/system/*.wants
: >"$0/root/etc/machine-id"
mkdir -p "$0/root/opt/cover-catalogue"
exec systemd-nspawn --quiet --directory="$0/root" --boot --register=no --keep-unit \\
  --bind-ro="$1:/opt/cover-catalogue" systemd.unit=basic.target`;

const running: TiedServer[] = [];
afterAll(async () => {
  await Promise.all(running.map((server) => server.stop()));
});

/** Whether this machine lets the tests boot: as root, and not in an unprivileged container. */
export function canBoot(): boolean {
  return spawnSync('unshare', ['-m', 'sh', '-c', MAKE_ROOT, makeFolder()]).status === 0;
}

export interface Booted {
  /** Runs a script of the shell in the container as root, until its end. */
  run(script: string): Promise<Finished>;
  /** Runs a script that must succeed. @returns its stdout */
  get(script: string): Promise<string>;
}

export async function bootSystemd(): Promise<Booted> {
  const server = await startTied(['unshare', '-m', 'sh', '-c', BOOT, makeFolder(), ROOT]);
  running.push(server);
  let leader: string | undefined;
  await until(() => {
    leader = childrenOf(server.pid).find((pid) => nameOf(pid) === 'systemd');
    return leader !== undefined;
  });

  function run(script: string): Promise<Finished> {
    const inside = ['-t', String(leader), '-m', '-u', '-i', '-p', 'sh', '-euc', script];
    return finish(spawn('nsenter', inside, { stdio: ['ignore', 'pipe', 'pipe'] }));
  }

  await until(async () => (await run('systemctl is-active basic.target')).code === 0);
  return {
    run,
    async get(script) {
      const { code, stdout, stderr } = await run(script);
      if (code !== 0) throw new Error(`The script ended with ${code}: ${stderr}${stdout}`);
      return stdout.trimEnd();
    },
  };
}

function childrenOf(pid: number): string[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ');
}

function nameOf(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  } catch {
    return undefined;
  }
}
