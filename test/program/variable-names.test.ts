/** Misspelled names of our variables in `.env` and in the environment. */
import { describe, expect, test } from 'vitest';
import { checkNames } from '../../program/environment/near-names.ts';
import { VARIABLES } from '../../program/environment/variables.ts';

describe('a name', () => {
  const known = Object.keys(VARIABLES);
  const inFile = (...names: string[]) => checkNames(known, names, []);
  const inEnvironment = (...names: string[]) => checkNames(known, [], names);

  test.each([
    ['SNAPSHOT_DIR', 'SNAPSHOTS_DIR'],
    ['SNAPSHOTS_DIRS', 'SNAPSHOTS_DIR'],
    ['DATABSE_URL', 'DATABASE_URL'],
    ['DATABAES_URL', 'DATABASE_URL'],
    ['database_url', 'DATABASE_URL'],
    ['LOG-LEVEL', 'LOG_LEVEL'],
    ['RATE_LIMIT', 'DEFAULT_RATE_LIMIT or ADDRESS_RATE_LIMIT'],
    ['SNAPSHOT_DOWNLOAD', 'SNAPSHOT_DOWNLOADS'],
    ['PROXY_THREAD', 'PROXY_THREADS'],
    ['PROT', 'PORT'],
    ['ACOUNT_URL', 'ACCOUNT_URL'],
  ])('%s in .env is an error that names %s', (name, meant) => {
    expect(inFile(name)).toEqual({
      faults: [
        `${name} in .env is not a variable of this program. Did you mean ${meant}? Rename it, or remove it if it is for another program.`,
      ],
      warnings: [],
    });
  });

  test('in .env that shares only the first word with ours is a warning, and others are ignored', () => {
    expect(inFile('SMTP_HOST')).toEqual({
      faults: [],
      warnings: [
        'SMTP_HOST in .env is not a variable of this program and has no effect. Known: SMTP_URL.',
      ],
    });
    const others = ['NODE_ENV', 'TZ', 'COMPOSE_PROJECT_NAME', 'MYSQL_ROOT_PASSWORD', 'API_URL'];
    expect(inFile(...others, ...known)).toEqual({ faults: [], warnings: [] });
  });

  test('in the environment that is one letter off is a warning, unless ours is set as well', () => {
    expect(inEnvironment('SNAPSHOT_DIR')).toEqual({
      faults: [],
      warnings: [
        'SNAPSHOT_DIR in the environment is not a variable of this program. Did you mean SNAPSHOTS_DIR?',
      ],
    });
    const nothing = { faults: [], warnings: [] };
    expect(inEnvironment('SNAPSHOT_DIR', 'SNAPSHOTS_DIR')).toEqual(nothing);
    // Names that shells, systemd, npm, Docker and Kubernetes set.
    const usual =
      'HOME HOSTNAME HOSTTYPE LANG LANGUAGE LOGNAME MAIL PATH PWD SHELL SHLVL TERM USER EDITOR ' +
      'LS_COLORS XDG_SESSION_ID SSH_CLIENT MAILCHECK http_proxy HTTPS_PROXY NO_PROXY host port ' +
      'INVOCATION_ID JOURNAL_STREAM NOTIFY_SOCKET npm_config_user_agent npm_lifecycle_event ' +
      'KUBERNETES_PORT KUBERNETES_SERVICE_HOST WEB_PORT WEB_HOST DB_PORT DB_HOST DB_URL ' +
      'REDIS_URL SMTP_HOST RATE_LIMIT LOG_FILE NODE_OPTIONS HOSTS PORTS POST BASE_URL API_HOST';
    expect(inEnvironment(...usual.split(' '))).toEqual(nothing);
  });
});
