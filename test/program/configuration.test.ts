/**
 * A wrong configuration ends each program at its start with exit code 2 and one line per fault, which
 * names the variable and the fix. The programs, folders, ports and files are real.
 */
import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { openDatabase } from '../../database/open.ts';
import { CATALOGUE_TABLES } from '../../database/schema.ts';
import { createTables } from '../../database/tables.ts';
import { ACCOUNTS_TABLE, createKeysTables } from '../../keys/tables/schema.ts';
import { listenAll } from '../../program/listen.ts';
import { makeSampleSqlite } from '../catalogue/snapshots.ts';
import { COMPILE_CACHE, flagsOf, UNPRIVILEGED } from '../support/processes.ts';
import {
  end,
  type Finished,
  finish,
  makeFolder,
  ROOT,
  startProgram,
  startProxyProgram,
} from '../support/product.ts';

const FREE_PORTS = { PORT: '0', ADMIN_PORT: '0', ACCOUNT_PORT: '0' };
/** An address that no machine has (RFC 5737). */
const FOREIGN = '203.0.113.7';
const ANY_ADDRESS =
  'to an address of this machine, such as 127.0.0.1, or to 0.0.0.0 for all of them.';

let folder: string;
beforeEach(() => {
  folder = makeFolder();
});

/** Runs a program in `folder` as a user to whom file permissions apply. */
function run(
  program: string,
  environment: Readonly<Record<string, string>> = {},
  ...args: string[]
): Promise<Finished> {
  const command = [process.execPath, ...flagsOf(program), path.join(ROOT, program), ...args];
  const [file = '', ...rest] = [...UNPRIVILEGED, ...command];
  const child = spawn(file, rest, {
    cwd: folder,
    env: { PATH: process.env.PATH, ...COMPILE_CACHE, ...FREE_PORTS, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 20_000,
  });
  return finish(child);
}

/** The messages of a program that ends with 2, without the lines of its log. */
async function refusalOf(...parameters: Parameters<typeof run>): Promise<string[]> {
  const { code, stderr } = await run(...parameters);
  expect([code, stderr]).toEqual([2, expect.any(String)]);
  return stderr.split('\n').filter((line) => line !== '' && !line.startsWith('{'));
}

async function makeDatabaseFile(): Promise<string> {
  const file = path.join(folder, 'data', 'catalogue.db');
  const database = await openDatabase(`sqlite:${file}`, { create: true });
  await createTables(database, { ...CATALOGUE_TABLES, ...ACCOUNTS_TABLE });
  await createKeysTables(database);
  await database.close();
  return file;
}

describe('when a program cannot listen', () => {
  let other: Server;
  let taken: string;
  beforeEach(async () => {
    other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    taken = String((other.address() as AddressInfo).port);
  });
  afterEach(() => other.close());

  test.each<[string, Record<string, string>, string[]]>([
    [
      'hosts that do not exist',
      { HOST: 'nothost.invalid', ADMIN_HOST: 'other.invalid' },
      [
        `Cannot listen on other.invalid:0: there is no host "other.invalid". Set ADMIN_HOST ${ANY_ADDRESS}`,
        `Cannot listen on nothost.invalid:0: there is no host "nothost.invalid". Set HOST ${ANY_ADDRESS}`,
      ],
    ],
    [
      'addresses of other machines',
      { HOST: FOREIGN, ADMIN_HOST: '2001:db8::7' },
      [
        `Cannot listen on [2001:db8::7]:0: this machine does not have that address. Set ADMIN_HOST ${ANY_ADDRESS}`,
        `Cannot listen on ${FOREIGN}:0: this machine does not have that address. Set HOST ${ANY_ADDRESS}`,
      ],
    ],
  ])('%s are reported together, with the variable to change', async (_, environment, lines) => {
    expect(await refusalOf('proxy/main.ts', { SNAPSHOTS_DIR: folder, ...environment })).toEqual(
      lines,
    );
  });

  test('a port that another program uses and a port that is configured twice have messages of their own', async () => {
    const both = { SNAPSHOTS_DIR: folder, PORT: taken };
    expect(await refusalOf('proxy/main.ts', both)).toEqual([
      `Cannot listen on 127.0.0.1:${taken}: another program listens there. Stop it, or set PORT to another port.`,
    ]);
    other.close();
    const [line, ...more] = await refusalOf('proxy/main.ts', { ...both, ADMIN_PORT: taken });
    expect([line, more]).toEqual([
      `Cannot listen on 127.0.0.1:${taken}: PORT and ADMIN_PORT are the same. Set one of them to another port.`,
      [],
    ]);
  });

  test('the account pages report ACCOUNT_HOST and ACCOUNT_PORT likewise', async () => {
    const DATABASE_URL = `sqlite:${await makeDatabaseFile()}`;
    const program = 'keys/account/main.ts';
    expect(await refusalOf(program, { DATABASE_URL, ACCOUNT_HOST: 'nothost.invalid' })).toEqual([
      `Cannot listen on nothost.invalid:0: there is no host "nothost.invalid". Set ACCOUNT_HOST ${ANY_ADDRESS}`,
    ]);
    const [line] = await refusalOf(program, { DATABASE_URL, ACCOUNT_PORT: taken });
    expect(line).toMatch(/another program listens there\. .* ACCOUNT_PORT to another port\.$/);
  });

  // Whether a low port needs a capability depends on the system, so the error is simulated.
  test('a low port is refused with the capability that it needs and the first port without it', async () => {
    const server = createServer();
    server.listen = () => {
      const error = new Error('listen EACCES: permission denied 127.0.0.1:80');
      queueMicrotask(() => server.emit('error', Object.assign(error, { code: 'EACCES' })));
      return server;
    };
    const variables = ['HOST', 'PORT'] as const;
    await expect(listenAll([{ server, host: '127.0.0.1', port: 80, variables }])).rejects.toThrow(
      /^Cannot listen on 127\.0\.0\.1:80: .* CAP_NET_BIND_SERVICE\. Set PORT to a port from 1024 on\.$/,
    );
  });
});

describe('a folder', () => {
  const WRITERS: readonly [program: string, variable: string, args: string[]][] = [
    ['generator/cli/main.ts', 'SNAPSHOTS_DIR', []],
    ['generator/cli/schedule.ts', 'SNAPSHOTS_DIR', []],
    ['commands/snapshot.ts', 'SNAPSHOTS_DIR', ['prune']],
    ['keys/account/main.ts', 'MAIL_FOLDER', []],
  ];
  const DATABASE_URL = 'sqlite:absent.db';

  test.each(WRITERS)('that %s may not write into is named', async (program, variable, args) => {
    const closed = path.join(folder, 'closed');
    mkdirSync(closed, { mode: 0o555 });
    const fix = 'Change its owner or mode, or set another folder.';
    const user = `the user of this program (id ${process.getuid?.()}) may not write into`;
    const refusal = (value: string) =>
      refusalOf(program, { DATABASE_URL, [variable]: value }, ...args);
    expect(await refusal('closed')).toEqual([`${variable} is ${closed}, which ${user}. ${fix}`]);
    expect(await refusal('closed/new/one')).toEqual([
      `${variable} is ${closed}/new/one, and ${closed} ${user}. ${fix}`,
    ]);
    expect(existsSync(path.join(closed, 'new'))).toBe(false);
  });

  test.each([
    ['because its file system is read-only', '/proc/snapshots', '/proc/snapshots'],
    ['because it is a dangling symbolic link', 'dangling', 'dangling'],
  ])('that cannot be created %s is named', async (_, value, named) => {
    symlinkSync('absent', path.join(folder, 'dangling'));
    const { code, stderr } = await finish(
      startProgram('generator/cli/main.ts', ['--dry-run'], {
        DATABASE_URL: await makeSampleSqlite(),
        SNAPSHOTS_DIR: path.resolve(folder, value),
      }),
    );
    expect(code).not.toBe(0);
    expect(stderr).toContain(named);
    expect(stderr).toContain('Set another folder.');
  });

  const READERS: typeof WRITERS = [
    ['proxy/main.ts', 'SNAPSHOTS_DIR', []],
    ['commands/snapshot.ts', 'SNAPSHOTS_DIR', ['list']],
  ];

  test.each([...WRITERS, ...READERS])(
    'that is a file is named by %s',
    async (program, variable, args) => {
      writeFileSync(path.join(folder, 'file'), '');
      expect(await refusalOf(program, { DATABASE_URL, [variable]: 'file' }, ...args)).toEqual([
        `${variable} is ${folder}/file, which is not a folder. Correct the path; a relative one starts at the working directory.`,
      ]);
    },
  );

  test.each(READERS)(
    'that %s may not read, or whose parent does not exist, is named',
    async (program, _, args) => {
      mkdirSync(path.join(folder, 'closed/inner'), { recursive: true });
      chmodSync(path.join(folder, 'closed'), 0o300);
      const refusal = (SNAPSHOTS_DIR: string) => refusalOf(program, { SNAPSHOTS_DIR }, ...args);
      expect(await refusal('closed')).toEqual([
        expect.stringMatching(
          /^SNAPSHOTS_DIR is .*\/closed, which the user .* may not read\. Change/,
        ),
      ]);
      chmodSync(path.join(folder, 'closed'), 0o600);
      expect(await refusal('closed/inner')).toEqual([
        expect.stringMatching(
          /^SNAPSHOTS_DIR is .*\/inner, and .*\/closed the user .* may not read\./,
        ),
      ]);
      chmodSync(path.join(folder, 'closed'), 0o700);
      expect(await refusal('data/snapshot')).toEqual([
        `SNAPSHOTS_DIR is ${folder}/data/snapshot, which does not exist; nor does ${folder}/data. Correct the path; a relative one starts at the working directory.`,
      ]);
    },
  );

  test('that the generator has not created yet makes the proxy wait and log a warning', async () => {
    const proxy = await startProxyProgram(path.join(folder, 'snapshots'));
    expect((await proxy.readyz()).status).toBe(503);
    const [first = ''] = proxy.log().split('\n');
    expect(JSON.parse(first)).toMatchObject({
      level: 40,
      SNAPSHOTS_DIR: path.join(folder, 'snapshots'),
      msg: expect.stringMatching(/^SNAPSHOTS_DIR does not exist: .* 503 .* correct the path/),
    });
    await end(proxy.child, 'SIGKILL');
  });

  test('for e-mails is not checked when a mail server is configured', async () => {
    writeFileSync(path.join(folder, 'mail'), '');
    const environment = { DATABASE_URL, SMTP_URL: 'smtp://localhost' };
    const { code, stderr } = await run('keys/account/main.ts', environment);
    expect([code, stderr]).toEqual([1, expect.stringContaining('no database file absent.db')]);
  });
});

describe('a SQLite database', () => {
  test.each<[string, (file: string) => void]>([
    ['a file that may not be opened', (file) => chmodSync(file, 0)],
    ['a file that may only be read', (file) => chmodSync(file, 0o444)],
    ['a folder that may only be read', (file) => chmodSync(path.dirname(file), 0o555)],
    ['a folder that may not be entered', (file) => chmodSync(path.dirname(file), 0)],
  ])('in %s: one line names it and the rights that are needed', async (_, close) => {
    const file = await makeDatabaseFile();
    close(file);
    const DATABASE_URL = `sqlite:${file}`;
    const { code, stderr } = await run(
      'keys/cli/main.ts',
      { DATABASE_URL },
      'issue',
      '--note',
      'x',
    );
    chmodSync(path.dirname(file), 0o700);
    expect(code).toBe(1);
    const [line = '', ...more] = stderr.split('\n');
    expect(more).toEqual(['']);
    expect(line).toMatch(new RegExp(`^(?:query of ${file}:|${file} cannot be) `));
    expect(line.split('The user of this program')).toHaveLength(2);
    expect(line).toMatch(
      / must be able to write to the file and to its folder, .* owner or mode\.$/,
    );
  });
});

describe('a variable', () => {
  test('that is misspelled is reported by each program, with all other faults at once', async () => {
    writeFileSync(path.join(folder, '.env'), 'SNAPSHOT_DIR=/data\nSMTP_HOST=mail\nTZ=UTC\n');
    const environment = {
      DATABSE_URL: 'sqlite:x.db',
      PORT: 'x',
      ACCOUNT_PORT: 'y',
      LOG_LEVEL: 'z',
    };
    for (const [program, own] of [
      ['proxy/main.ts', ['PORT', 'LOG_LEVEL']],
      ['generator/cli/main.ts', ['DATABASE_URL']],
      ['generator/cli/schedule.ts', ['DATABASE_URL', 'LOG_LEVEL']],
      ['keys/account/main.ts', ['DATABASE_URL', 'ACCOUNT_PORT', 'LOG_LEVEL']],
    ] as const) {
      const lines = await refusalOf(program, environment);
      expect(lines.map((line) => line.split(' ', 2).join(' '))).toEqual([
        'Warning: SMTP_HOST',
        'Warning: DATABSE_URL',
        'SNAPSHOT_DIR in',
        ...own.map((name) => `${name} ${name === 'DATABASE_URL' ? 'is' : 'must'}`),
      ]);
    }
  });

  test('in a .env that cannot be read is an error', async () => {
    mkdirSync(path.join(folder, '.env'));
    expect(await refusalOf('proxy/main.ts')).toEqual([
      expect.stringMatching(/^\.env is a directory, not a regular file\. Correct or remove it\.$/),
    ]);
  });

  test('MAIL_FROM and the parameters of DATABASE_URL are checked like any other', async () => {
    const DATABASE_URL = 'mysql://me:secret@localhost/catalogue?pool=5';
    expect(
      await refusalOf('generator/cli/main.ts', {
        DATABASE_URL,
        SITE_URL: 'https://a.org',
        FILES_URL: 'https://a.org',
      }),
    ).toEqual(['The mysql address has a parameter "pool"; known are ssl, socketPath, timeout.']);
    const environment = { DATABASE_URL: 'sqlite:x.db', MAIL_FROM: 'nobody' };
    expect(await refusalOf('keys/account/main.ts', environment)).toEqual([
      expect.stringMatching(/^MAIL_FROM must be an address such as .* not "nobody"\.$/),
    ]);
  });
});
