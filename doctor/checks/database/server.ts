/** The database: its connection, version, clock and time zone. */
import type { Database } from '../../../database/database.ts';
import { openDatabase } from '../../../database/open.ts';
import {
  CannotRun,
  type Check,
  type Findings,
  requireValue,
  type Scene,
} from '../../findings/check.ts';

const CONNECT_SECONDS = 3;
const STALL_SECONDS = 8;
/** The oldest supported versions: [major, minor]. */
const OLDEST = { MariaDB: [10, 11], MySQL: [8, 0] } as const;
const TOLERATED_SECONDS = 2;
const WRONG_SECONDS = 30;

export interface DatabaseAccess {
  readonly open: Scene['database'];
  /** Opens the database, and reports why if that fails. */
  openAndReport(scene: Scene): Promise<Database>;
  close(): Promise<void>;
}

/** Opens the database once for all checks. */
export function makeDatabaseAccess(): DatabaseAccess {
  let opened: Database | undefined;
  return {
    async open() {
      if (opened !== undefined) return opened;
      throw new CannotRun(
        'The database is not open.',
        'Correct what the check "database" reports, and run the doctor again.',
      );
    },
    async openAndReport(scene) {
      const url = requireValue(scene, 'DATABASE_URL');
      opened = await openDatabase(url, {
        connectSeconds: CONNECT_SECONDS,
        stallSeconds: STALL_SECONDS,
      });
      return opened;
    },
    async close() {
      await opened?.close();
    },
  };
}

export function databaseCheck({ openAndReport }: DatabaseAccess): Check {
  return {
    name: 'database',
    programs: ['schedule', 'account'],
    async run(scene, findings) {
      let database: Database;
      try {
        database = await openAndReport(scene);
      } catch (error) {
        if (error instanceof CannotRun) throw error;
        findings.error(
          (error as Error).message,
          'Do what the message says. README.md, "Your database", shows how to create the user.',
        );
        return;
      }
      if (database.kind === 'sqlite') {
        const [[version] = []] = await database.rows('SELECT sqlite_version()');
        findings.ok(`SQLite ${version} is open. Its clock is the one of this machine.`);
        return;
      }
      await checkVersion(database, findings);
      await checkClock(database, findings);
      await checkTimeZone(database, findings);
    },
  };
}

async function checkVersion(database: Database, { ok, warn }: Findings): Promise<void> {
  const [[text, user, schema] = []] = await database.rows(
    'SELECT VERSION(), CURRENT_USER(), DATABASE()',
  );
  const version = String(text);
  const product = /mariadb/i.test(version) ? 'MariaDB' : 'MySQL';
  ok(`${product} ${version} is open, as ${user} in ${schema}.`);
  const [, major = 0, minor = 0] = (/^(\d+)\.(\d+)/.exec(version) ?? []).map(Number);
  const [oldestMajor, oldestMinor] = OLDEST[product];
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  warn(
    `${product} ${version} is older than ${oldestMajor}.${oldestMinor}, the oldest version that this program is tested with.`,
    `Upgrade the server to ${product} ${oldestMajor}.${oldestMinor} or newer.`,
  );
}

async function checkClock(database: Database, { ok, warn, error }: Findings): Promise<void> {
  const before = Date.now();
  const [[time] = []] = await database.rows('SELECT UNIX_TIMESTAMP(NOW(6))');
  const middle = (before + Date.now()) / 2;
  const seconds = Math.round(Number(time) - middle / 1000);
  const text = `The clock of the database server is ${Math.abs(seconds)} s ${seconds < 0 ? 'behind' : 'ahead of'} the clock of this machine.`;
  const fix = 'Let NTP set the clocks of both machines (timedatectl shows its state).';
  if (Math.abs(seconds) > WRONG_SECONDS) error(text, fix);
  else if (Math.abs(seconds) > TOLERATED_SECONDS) warn(text, fix);
  else ok('The clocks of the database server and of this machine agree.');
}

/** The programs use UTC in their sessions; a site may write local times into columns without a zone. */
async function checkTimeZone(database: Database, { ok, warn }: Findings): Promise<void> {
  const [[zone, minutes] = []] = await database.rows(
    // Where the zone of the server is a name, CONVERT_TZ may lack its tables and give NULL.
    `SELECT IF(@@global.time_zone = 'SYSTEM', @@system_time_zone, @@global.time_zone),
       TIMESTAMPDIFF(MINUTE, UTC_TIMESTAMP(), CONVERT_TZ(UTC_TIMESTAMP(), '+00:00', @@global.time_zone))`,
  );
  const offset = minutes === null ? undefined : Number(minutes);
  if (offset === 0 || (offset === undefined && /^(?:UTC|GMT|Etc)/.test(String(zone)))) {
    ok('The time zone of the database server is UTC.');
    return;
  }
  const [[type] = []] = await database.rows(
    `SELECT data_type FROM information_schema.columns
      WHERE table_schema = DATABASE() AND table_name = 'covers' AND column_name = 'approved_at'`,
  );
  if (String(type).toLowerCase() === 'timestamp') {
    ok(
      `The time zone of the database server is ${zone}, which does not affect columns of the type TIMESTAMP.`,
    );
    return;
  }
  warn(
    `The time zone of the database server is ${zone}. If your site writes NOW() into covers.approved_at, the times are local, and the API serves them as UTC.`,
    "If they are local times, convert them in a view: CONVERT_TZ(approved_at, @@global.time_zone, '+00:00').",
  );
}
