/** Environment variables: their defaults, the values they accept, and the errors that name the fix. */
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, test, vi } from 'vitest';
import { openDepot, openKeysDepot } from '#depot/open.ts';
import {
  ConfigurationError,
  loadEnvironmentFile,
  readEnvironment,
} from '#lib/program/environment/environment.ts';
import { shownAddress } from '#lib/program/environment/values.ts';
import { VARIABLES, type VariableName } from '#lib/program/environment/variables.ts';
import { makeFolder } from '#test/support/product.ts';

const NAMES = Object.keys(VARIABLES) as VariableName[];
const read = (name: VariableName, value?: string) =>
  readEnvironment([name], { [name]: value })[name];

function faultOf(names: readonly VariableName[], environment: Record<string, string>): string {
  try {
    readEnvironment(names, environment);
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigurationError);
    return (error as Error).message;
  }
  return expect.unreachable(`${JSON.stringify(environment)} was accepted`);
}

interface Values {
  /** Texts and the values that they are read as. */
  readonly good: Readonly<Record<string, unknown>>;
  readonly bad: string;
}

const port = { good: { 0: 0, 65535: 65_535, ' 80 ': 80 }, bad: '65536 -1 8e3 1.5 http 1234567890' };
const rate = { good: { 1: 1, 1000000: 1_000_000 }, bad: '0 1000001 -5 1.5 many 1e3' };
const host = {
  good: { '0.0.0.0': '0.0.0.0', '::1': '::1', 'a-b.example': 'a-b.example' },
  bad: `a,b [::1] http://localhost localhost:80 ${'a'.repeat(254)}`,
};
const address = {
  good: {
    'http://localhost:8080': 'http://localhost:8080',
    'https://Example.org//': 'https://example.org',
    'https://example.org/a/b/': 'https://example.org/a/b',
  },
  bad:
    'a.org ftp://a.org https:// https://a.org/?x=1 https://a.org/#x https://a.org? https://a.org# ' +
    'https://me@a.org javascript:1 https://a".org https://a%22.org',
};
const same = (...texts: string[]) => Object.fromEntries(texts.map((text) => [text, text]));

/** The variables that do not accept every text; others are tested below and in site-keys.test.ts. */
const EXPECTED: Partial<Record<VariableName, Values>> = {
  DATABASE_URL: {
    good: same('sqlite:a.db', 'sqlite::memory:', 'mysql://u:p@h:3306/n', 'mariadb://h/n'),
    bad: 'sqlite: mysql:// mysql://h mysql://h/ mysql:///n http://h/n u:secret@h/n mysql://u:se#cret@h/n',
  },
  HOST: host,
  PORT: port,
  PROXY_THREADS: { good: { 1: 1, 64: 64 }, bad: '0 65 -1 1.5 two' },
  ADMIN_PORT: { good: { 0: 0, 65528: 65_528 }, bad: '65529' },
  SNAPSHOT_DOWNLOADS: { good: { on: true, off: false }, bad: 'yes true 1 ON 0' },
  KEYS_DEPOT: {
    good: same('/srv/keys', 's3://bucket/prefix'),
    bad: 'http://127.0.0.1/keys https://keys.example.org HTTPS://keys.example.org',
  },
  AWS_REGION: { good: same('eu-central-1', 'auto'), bad: 'eu_central eu/1 https://a.org' },
  AWS_ENDPOINT_URL_S3: address,
  SITE_URL: address,
  SITE_NAME: {
    good: same('', 'Capas & Jogos 🎮', 'カバー'),
    bad: `a\u0000b a\u202eb ${'n'.repeat(61)}`,
  },
  SITE_CONTACT: {
    good: {
      ...same('', 'help@example.org', 'https://example.org/contact?from=api#form'),
      'mailto:help@example.org': 'help@example.org',
    },
    bad: 'help example.org @example.org a@b@c a,b@c javascript:1 ftp://a.org https://',
  },
  SIGN_IN_URL: {
    good: same(
      '',
      'https://example.org/login?next={return}&from=api',
      'http://localhost:8000/in/{return}',
      'https://example.org/login',
    ),
    bad:
      '{return} https://{return}/ https://example.org{return}/ https://{return}.example.org/ javascript:{return} ' +
      'https://example.org/{id} https://example.org/{return https://me@example.org/{return} login?next={return}',
  },
  GAME_URL: {
    good: {
      ...same(
        '{site}/{language}/platform/{platform}/game/{game}',
        '{site}?id={id}',
        'https://example.org:8080/jogo.php?console={platform}&id={id}#{game}',
      ),
      '{site}/ação/{id}%': '{site}/a%C3%A7%C3%A3o/{id}%25',
    },
    bad:
      '{site} {site}/game {site}/{platform} {site}/{slug}/{id} {site}/{}/{id} {site}x/{id} /{id} game/{site}/{id} ' +
      '{site}/{site}/{id} {site}/{id https://{game}.example.org/{id} https://{game}/ ftp://a.org/{id} ' +
      'https://me:secret@example.org/{id} https://exa"mple.org/{id} javascript:{id}',
  },
  PLATFORM_URL: {
    good: same('{site}/{language}/platform/{platform}', 'http://a.org/{id}'),
    bad: '{site} {site}/{game}/{platform} {site}/{language} {id}',
  },
  SITE_LANGUAGE: { good: same('de', 'pt-BR', 'zh-Hant-TW'), bad: 'e en_US en/.. en- -en é' },
  CHANGE_POLL_SECONDS: { good: { 0: 0, 86400: 86_400 }, bad: '-1 86401 1.5 2s x' },
  DEFAULT_RATE_LIMIT: rate,
  LIMITS_FAILURE: { good: same('local', 'refuse'), bad: 'Local open 1' },
  SMTP_URL: {
    good: same(
      'smtp://localhost',
      'smtp://user:p%40ss@mail.example.org:587',
      'smtps://[::1]:465/',
      'smtp://h?pool=true',
    ),
    // A password that is not percent-encoded contains characters that end the host.
    bad:
      'mail.example.org smtp: smtp:// smtp:///h smtp:h http://u:secret@h smtps//h smtp://u:se#cret@h ' +
      'smtp://u:1#secret@h smtp://u:1/secret@h smtp://u:secret%@h smtp://u:secret@h:99999',
  },
  LOG_LEVEL: { good: same('silent', 'fatal'), bad: 'INFO trace all' },
};

test.each(Object.entries(EXPECTED) as [VariableName, Values][])(
  '%s accepts valid values, and an error says what is allowed',
  (name, { good, bad }) => {
    for (const [text, value] of Object.entries(good)) expect(read(name, text)).toBe(value);
    for (const text of bad.split(' ')) {
      const fault = faultOf([name], { [name]: text });
      expect(fault).toMatch(new RegExp(`^${name} must be .+\\.$`));
      // These may hold a password or a key.
      if (name === 'DATABASE_URL' || name === 'SMTP_URL') expect(fault).not.toContain('cret');
      else
        expect(fault).toContain(
          `, not ${/_URL/.test(name) ? shownAddress(text) : JSON.stringify(text)}.`,
        );
    }
  },
);

test('FRONT_TYPES lists types, and a template names the places that it may not or must have', () => {
  expect(read('FRONT_TYPES')).toEqual(['front']);
  expect(read('FRONT_TYPES', ' Frente,  manga de cartão ')).toEqual(['Frente', 'manga de cartão']);
  for (const bad of [',', 'a,,b', 'a,', 'a,b,c,d,e,f,g,h,i'])
    expect(faultOf(['FRONT_TYPES'], { FRONT_TYPES: bad })).toBe(
      `FRONT_TYPES must be 1 to 8 types of covers, separated by commas, such as frente,sleeve, not ${JSON.stringify(bad)}.`,
    );
  const GAME_URL = '{site}/{slug}/{id}';
  expect(faultOf(['GAME_URL'], { GAME_URL })).toBe(
    'GAME_URL must be an address without {slug}: its places are {site}, {language}, {platform}, {game} and {id}, not "{site}/{slug}/{id}".',
  );
  expect(faultOf(['PLATFORM_URL'], { PLATFORM_URL: '{site}/all' })).toBe(
    'PLATFORM_URL must be an address with {platform} or {id}, which tells pages apart, not "{site}/all".',
  );
});

test('a variable that is unset, empty or blank has its default, and every default is valid', () => {
  const defaults = readEnvironment(NAMES, { DATABASE_URL: 'sqlite:a.db' });
  expect(defaults).toMatchObject({ PORT: 8080, LIMITS_URL: undefined });
  for (const blank of ['', '  ']) {
    expect(read('PORT', blank)).toBe(8080);
    expect(faultOf(['DATABASE_URL'], { DATABASE_URL: blank })).toBe(
      `DATABASE_URL is not set, neither in the environment nor in ${path.resolve('.env')}. See .env.example.`,
    );
  }
});

test('a special character in a password is named with its code, and the port of addresses here follows PORT', () => {
  const fault = faultOf(['DATABASE_URL'], { DATABASE_URL: 'mysql://me:a/b@c@host/catalogue' });
  expect(fault).toContain('(in user and password, write "/" as "%2F" and "@" as "%40")');
  expect(readEnvironment(['PUBLIC_URL', 'SITE_URL', 'FILES_URL'], { PORT: '9000' })).toEqual({
    PUBLIC_URL: 'http://localhost:9000',
    SITE_URL: 'http://localhost:9000',
    FILES_URL: 'http://localhost:9000/files',
  });
});

describe('an error about an address does not show its password', () => {
  const PASSWORD = 'hunter2';
  const ADDRESSES = [
    `https://me:${PASSWORD}@host.example`,
    `https://me:${PASSWORD}/x@y@host.example/path`,
    `https:/me:${PASSWORD}@host.example`,
    `me:${PASSWORD}@host.example`,
    `htps://me:${PASSWORD}@host.example`,
    `mysql://me:${PASSWORD}@/catalogue`,
    `redis://me:${PASSWORD}@host:x`,
    `smtp://me:${PASSWORD}@host/path`,
    `s3://me:${PASSWORD}@bucket`,
    `u:${PASSWORD}@host.example`,
    `https://host.example?password=${PASSWORD}`,
    `https://host.example#${PASSWORD}`,
  ];
  const NAMES = Object.keys(VARIABLES).filter((name) =>
    /_URL|^KEYS_DEPOT$|^SITE_CONTACT$/.test(name),
  );

  test.each(NAMES as VariableName[])('%s', (name) => {
    const messages = ADDRESSES.flatMap((value) => {
      try {
        readEnvironment([name], { [name]: value });
        return [];
      } catch (error) {
        return [(error as Error).message];
      }
    });
    expect(messages).not.toEqual([]);
    for (const message of messages) expect(message).not.toContain(PASSWORD);
  });

  test.each([
    `mysql://me:1/${PASSWORD}@host.example/catalogue`,
    `mysql://me:1/catalogue?${PASSWORD}@host.example/catalogue`,
    `mysql://me:1/catalogue#${PASSWORD}@host.example/catalogue`,
  ])('DATABASE_URL=%s, which is split in the middle of the password', (DATABASE_URL) => {
    const fault = faultOf(['DATABASE_URL'], { DATABASE_URL });
    expect(fault).toMatch(/^DATABASE_URL must be mysql:/);
    expect(fault).not.toContain(PASSWORD);
  });

  test.each(ADDRESSES)('of a depot: %s', (address) => {
    let message = '';
    try {
      openDepot(address, { environment: {} });
    } catch (error) {
      message = (error as Error).message;
    }
    expect(message).not.toContain(PASSWORD);
    const both = () => openKeysDepot(address, { REPLICA_FROM: address });
    expect(both).toThrow(/^KEYS_DEPOT is .*within REPLICA_FROM/);
    expect(both).not.toThrow(PASSWORD);
  });
});

test('TRUSTED_PROXIES is a list of addresses and ranges, empty by default', () => {
  expect(read('TRUSTED_PROXIES')).toMatchObject({ rules: [] });
  const list = readEnvironment(['TRUSTED_PROXIES'], {
    TRUSTED_PROXIES: ' 10.0.0.0/8,192.0.2.1 , 2001:db8::/32,, ::1',
  }).TRUSTED_PROXIES;
  for (const address of ['10.255.0.1', '192.0.2.1']) expect(list.check(address)).toBe(true);
  for (const address of ['11.0.0.1', '192.0.2.2']) expect(list.check(address)).toBe(false);
  for (const address of ['2001:db8:ffff::', '::1']) expect(list.check(address, 'ipv6')).toBe(true);
  for (const address of ['2001:db9::', '::2']) expect(list.check(address, 'ipv6')).toBe(false);
  const wrong = 'nginx 10.0.0.0/33 ::/129 10.0.0.0/ /8 10.0.0.0/-1 10.0.0.1/8/9 10.0.0';
  for (const entry of wrong.split(' ')) {
    const fault = faultOf(['TRUSTED_PROXIES'], { TRUSTED_PROXIES: `10.0.0.1, ${entry}` });
    expect(fault).toMatch(/^TRUSTED_PROXIES must list addresses or CIDR ranges such as 10/);
    expect(fault).toContain(`, not ${JSON.stringify(entry)}.`);
  }
});

test('all faults are reported at once, and only those of the requested variables', () => {
  const environment = { PORT: 'x', LOG_LEVEL: 'y', HOST: '127.0.0.1' };
  const faults = faultOf(NAMES, environment).split('\n');
  expect(faults.map((fault) => fault.split(' ')[0])).toEqual(['DATABASE_URL', 'LOG_LEVEL', 'PORT']);
  expect(readEnvironment(['HOST', 'ADMIN_PORT'], environment)).toEqual({
    HOST: '127.0.0.1',
    ADMIN_PORT: 9090,
  });
});

/** Loads the environment file of a folder in a process of its own. @param printed an expression that it prints */
function loadIn(folder: string, environment: Record<string, string>, printed = "''") {
  const module = path.join(import.meta.dirname, '../../../lib/program/environment/environment.ts');
  const program = `
    const { loadEnvironmentFile, readEnvironment } = await import(${JSON.stringify(module)});
    loadEnvironmentFile();
    console.log(${printed});`;
  const flags = ['--input-type=module', '-e', program];
  return spawnSync(process.execPath, flags, { cwd: folder, env: environment, encoding: 'utf8' });
}

test('.env in the working directory is read if it exists, and the environment takes precedence', () => {
  const folder = makeFolder();
  const run = () => {
    const { stdout, stderr } = loadIn(
      folder,
      { PORT: '7000' },
      "JSON.stringify(readEnvironment(['HOST', 'PORT', 'LOG_LEVEL']))",
    );
    return [JSON.parse(stdout), stderr];
  };
  expect(run()).toEqual([{ HOST: '127.0.0.1', PORT: 7000, LOG_LEVEL: 'info' }, '']);
  const lines = '# a comment\nHOST=0.0.0.0\nPORT=9\nLOG_LEVEL="debug" # so\nSNAPSHOT_DIR=x\n';
  writeFileSync(path.join(folder, '.env'), lines);
  expect(run()).toEqual([
    { HOST: '0.0.0.0', PORT: 7000, LOG_LEVEL: 'debug' },
    'Warning: SNAPSHOT_DIR in .env is not a variable of this program.\n',
  ]);
});

test('a line of .env without effect causes a warning that shows nothing but the name of a variable', () => {
  const folder = makeFolder();
  const text = `\uFEFFPORT=80\r
GENERATE_CRON off\r
  # HOST 0.0.0.0\r
DATABASE_URL: mysql://u:secret@h/n?ssl=true
SITE_NAME="two
lines" # of one value
export HOST = 0.0.0.0

export LOG_LEVEL debug
secret
SITE_CONTACT='not closed
`;
  writeFileSync(path.join(folder, '.env'), text);
  const { stdout, stderr } = loadIn(folder, {}, 'process.env.PORT');
  expect(stdout).toBe('80\n');
  expect(stderr.trimEnd().split('\n')).toEqual([
    'Warning: line 2 of .env (GENERATE_CRON) has no effect: write NAME=value.',
    'Warning: line 4 of .env (DATABASE_URL) has no effect: write NAME=value.',
    'Warning: line 9 of .env (LOG_LEVEL) has no effect: write NAME=value.',
    'Warning: line 10 of .env has no effect: write NAME=value.',
  ]);
});

test('a variable of an earlier version causes a warning, wherever it is set', () => {
  const folder = makeFolder();
  const run = (environment: Record<string, string>) => loadIn(folder, environment).stderr;
  const warning =
    'Warning: ACCESS_LOG has no effect any more: nginx logs the requests ("nginx" in operations/install.md). Remove it.\n';
  expect(run({ ACCESS_LOG: 'off' })).toBe('');
  expect(run({ ACCESS_LOG: 'errors' })).toBe(warning);
  writeFileSync(path.join(folder, '.env'), 'ACCESS_LOG=all\n');
  expect(run({})).toBe(warning);
});

test('.env is not read if another user owns it or can write it', () => {
  const folder = makeFolder();
  const file = path.join(folder, '.env');
  writeFileSync(file, 'ADMIN_PORT=7001\n');
  const before = process.cwd();
  process.chdir(folder);
  const portOf = () => {
    loadEnvironmentFile();
    return readEnvironment(['ADMIN_PORT']).ADMIN_PORT;
  };
  try {
    for (const mode of [0o620, 0o602]) {
      chmodSync(file, mode);
      expect(portOf).toThrow(
        `${file} is not read: other users can write to it. Run: chmod go-w ${file}`,
      );
    }
    chmodSync(file, 0o644);
    // Root's file would be trusted.
    if (process.getuid?.() === 0) chownSync(file, 4_321, 0);
    const user = vi.spyOn(process, 'geteuid').mockReturnValue(1_234);
    expect(portOf).toThrow(/ is not read: it belongs to the user with id \d+, .*: chown 1234 /);
    expect(process.env.ADMIN_PORT).toBe(undefined);
    user.mockReturnValue(statSync(file).uid);
    expect(portOf()).toBe(7001);
  } finally {
    process.chdir(before);
    delete process.env.ADMIN_PORT;
    vi.restoreAllMocks();
  }
});
