/**
 * The services of operations/systemd/ under a real systemd, installed with the commands of "Installing as
 * services" in operations/install.md: what they can do, and what their sandboxes prevent.
 */

import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { makeLoaded } from '#test/catalogue/snapshots.ts';
import { until } from '#test/soak/support/until.ts';
import { startTied, type TiedServer } from '#test/support/processes.ts';
import {
  type Finished,
  finish,
  makeFolder,
  type Reply,
  ROOT,
  send,
} from '#test/support/product.ts';
import { freePort } from '#test/support/servers/ports.ts';
import { commandsFrom } from './document-commands.ts';

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
function canBoot(): boolean {
  return spawnSync('unshare', ['-m', 'sh', '-c', MAKE_ROOT, makeFolder()]).status === 0;
}

interface Booted {
  /** Runs a script of the shell in the container as root, until its end. */
  run(script: string): Promise<Finished>;
  /** Runs a script that must succeed. @returns its stdout */
  get(script: string): Promise<string>;
}

/**
 * Boots a container whose root is this machine's, under a layer in memory that takes all changes. It has the
 * product in /opt/cover-catalogue, read-only, and this machine's network.
 */
async function bootSystemd(): Promise<Booted> {
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

const SCHEDULE = 'cover-catalogue-schedule';
const ACCOUNT = 'cover-catalogue-account';
const PROXY = 'cover-catalogue-proxy@0';
const SNAPSHOTS = '/srv/covers/snapshots';

describe.skipIf(!canBoot())('the services', () => {
  let systemd: Booted;
  let key: string;
  let ports: { api: number; second: number; account: number; replicaAdmin: number };

  beforeAll(async () => {
    const url = await makeLoaded('mysql', sampleCatalogue());
    const [api, admin, second, secondAdmin, account, scheduleAdmin, accountAdmin, replicaAdmin] =
      await Promise.all(Array.from({ length: 8 }, freePort));
    ports = { api, second, account, replicaAdmin } as typeof ports;
    systemd = await bootSystemd();
    await systemd.get(commandsFrom('cd /opt/cover-catalogue/operations/systemd'));
    const set = (file: string, ...lines: string[]) =>
      systemd.get(`cat >>/etc/cover-catalogue/${file} <<'END'\n${lines.join('\n')}\nEND`);
    await set(
      'generator.env',
      `DATABASE_URL=${url}`,
      `ADMIN_PORT=${scheduleAdmin}`,
      // A run at a quarter of an hour would find the hold of a test, and log a warning.
      'GENERATE_CRON=0 0 1 1 *',
    );
    await set(
      'account.env',
      `DATABASE_URL=${url}`,
      'SMTP_URL=',
      `ACCOUNT_PORT=${account}`,
      `ADMIN_PORT=${accountAdmin}`,
    );
    await set('proxy-0.env', `PORT=${api}`, `ADMIN_PORT=${admin}`);
    await set('proxy-2.env', `PORT=${second}`, `ADMIN_PORT=${secondAdmin}`);
    const output = await systemd.get(commandsFrom('systemctl enable --now'));
    key = /cck_\w+/.exec(output)?.[0] ?? '';
  });

  const get = (port = ports.api): Promise<Reply> =>
    send(`http://127.0.0.1:${port}/api/v1/games/snes/chrono-trigger`, {
      headers: { 'x-api-key': key },
    });
  const answers = (port?: number) =>
    get(port).then(
      ({ status }) => status === 200,
      () => false,
    );
  const show = (unit: string, property: string) =>
    systemd.get(`systemctl show --value --property=${property} ${unit}`);

  /** Runs a command as a service sees the machine: as its user, and in its mount namespace. */
  async function runIn(unit: string, command: string) {
    const [pid, user] = [await show(unit, 'MainPID'), await show(unit, 'User')];
    const as = `setpriv --reuid=${user} --regid=${user} --init-groups`;
    return systemd.run(`nsenter -t ${pid} -m ${as} sh -c '${command}'`);
  }

  test('start, and serve the catalogue and the account pages to a new key', async () => {
    expect(key).not.toBe('');
    await until(() => answers());
    await until(() => answers(ports.second));
    expect((await get()).json.title).toBe('Chrono Trigger');
    const page = await send(`http://127.0.0.1:${ports.account}/account/sign-in`);
    expect(page.status).toBe(200);
    expect(await systemd.get(`systemctl is-enabled ${SCHEDULE} ${ACCOUNT} ${PROXY}`)).toBe(
      'enabled\nenabled\nenabled',
    );
  });

  test.each([
    [
      SCHEDULE,
      [SNAPSHOTS],
      [`${SNAPSHOTS}/proxy`, '/srv/covers', '/var/lib', '/etc', '/opt/cover-catalogue'],
    ],
    [
      PROXY,
      [`${SNAPSHOTS}/proxy`],
      [SNAPSHOTS, '/srv/covers', '/var/lib', '/etc', '/opt/cover-catalogue'],
    ],
    [ACCOUNT, ['/var/lib/cover-catalogue-account'], ['/srv/covers', '/var/lib', '/etc']],
  ])('%s can write only to its own folder', async (unit, own, others) => {
    for (const folder of own) {
      expect((await runIn(unit, `touch ${folder}/x && rm ${folder}/x`)).stderr).toBe('');
    }
    for (const folder of others) {
      expect((await runIn(unit, `touch ${folder}/x`)).stderr).toMatch(
        /Permission denied|Read-only/,
      );
    }
  });

  test('only the generator and the proxy can read the snapshots, and no service the settings of others', async () => {
    const canRead = async (unit: string, file: string) =>
      (await runIn(unit, `cat ${file}`)).code === 0;
    expect(await canRead(PROXY, `${SNAPSHOTS}/keys.json`)).toBe(true);
    expect(await canRead(ACCOUNT, `${SNAPSHOTS}/keys.json`)).toBe(false);
    for (const unit of [SCHEDULE, PROXY, ACCOUNT]) {
      expect(await canRead(unit, '/etc/cover-catalogue/generator.env')).toBe(false);
      expect(await canRead(unit, '/etc/cover-catalogue/account.env')).toBe(false);
    }
    const pid = await show(PROXY, 'MainPID');
    expect(await systemd.get(`tr "\\0" "\\n" </proc/${pid}/environ`)).not.toContain('DATABASE_URL');
  });

  test('a restarted proxy is ready when systemctl returns', async () => {
    await systemd.get(`systemctl restart ${PROXY}`);
    // Ready means that it answers at once.
    const after = await get();
    expect(after.status).toBe(200);
  });

  test('root runs commands as the user of the generator, from any folder', async () => {
    const list = 'cover-catalogue snapshot list';
    expect(await systemd.get(`cd /root; ${list}`)).toContain('000001-');
    await systemd.get(`cd ${SNAPSHOTS}; cover-catalogue snapshot hold --reason trial`);
    expect(await systemd.get(`stat -c %U ${SNAPSHOTS}/hold.json`)).toBe('covers-generator');
    await systemd.get('cover-catalogue snapshot resume');
    expect((await systemd.run('cover-catalogue snapshot show /no-such-path')).code).toBe(1);
    const denied = await systemd.run(`setpriv --reuid=covers-proxy --clear-groups ${list}`);
    expect([denied.code, denied.stderr]).toEqual([2, expect.stringContaining('as root')]);
  });

  test('are not restarted if the configuration is wrong', async () => {
    const restart = (settings: string) =>
      systemd.run(`${settings} /etc/cover-catalogue/account.env; systemctl restart ${ACCOUNT}`);
    expect((await restart("sed -i '$a PUBLIC_URL=wrong'")).code).not.toBe(0);
    expect(await show(ACCOUNT, 'ExecMainStatus')).toBe('2');
    expect(await show(ACCOUNT, 'ActiveState')).toBe('failed');
    expect(await systemd.get(`journalctl -o cat -u ${ACCOUNT} | tail -n 20`)).toContain(
      'PUBLIC_URL',
    );
    expect((await restart("sed -i '$d'")).code).toBe(0);
  });

  test('end cleanly, and a replica takes the place of the generator', async () => {
    await systemd.get(`install -d -o covers-generator -g covers -m 2750 /srv/depot
      cover-catalogue push --to /srv/depot`);
    await systemd.get(`systemctl stop 'cover-catalogue-*'`);
    for (const service of [SCHEDULE, ACCOUNT, PROXY]) {
      expect([service, await show(service, 'Result')]).toEqual([service, 'success']);
      expect([service, await show(service, 'ExecMainStatus')]).toEqual([service, '0']);
    }
    await systemd.get(`cd /opt/cover-catalogue/operations/systemd
      install -m 600 -t /etc/cover-catalogue ../environment/replica.env
      printf 'REPLICA_FROM=/srv/depot\\nKEYS_DEPOT=\\nSNAPSHOT_PUBLIC_KEYS=\\nADMIN_PORT=${ports.replicaAdmin}\\n' >>/etc/cover-catalogue/replica.env
      cd ${SNAPSHOTS}; mv keys.json /tmp; rm -r current generations; mv /tmp/keys.json .
      systemctl start cover-catalogue-replica ${PROXY}`);
    await until(() => answers());
    await systemd.get(`systemctl stop cover-catalogue-replica`);
    expect(await show('cover-catalogue-replica', 'ExecMainStatus')).toBe('0');
  });

  test('log no warning while all is well', async () => {
    const log = await systemd.get(`journalctl -o cat -u 'cover-catalogue-*'`);
    expect(log).toContain('"msg":"serving a generation"');
    expect(log.split('\n').filter((line) => /"level":"(?:warn|error|fatal)"/.test(line))).toEqual(
      [],
    );
  });
});
