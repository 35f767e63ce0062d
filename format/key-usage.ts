/**
 * `proxy/key-usage-<PORT>.json`: the day on which each key was last used. Each proxy writes its own
 * file. `cover-catalogue schedule` reads all these files and updates the database.
 */

const VERSION = 1;
const DAY = /^\d{4}-\d{2}-\d{2}$/;
/** The largest file that is read, in bytes. */
export const LARGEST_KEY_USAGE = 64 * 1024 * 1024;

/**
 * The bytes of the file.
 * @param days for the id of each key, the day on which it was last used: "YYYY-MM-DD" in UTC
 */
export function encodeKeyUsage(days: ReadonlyMap<number, string>): string {
  const lines = [...days]
    .sort(([a], [b]) => a - b)
    .map(([id, day]) => JSON.stringify({ id, day }))
    .join(',\n');
  return `{"version":${VERSION},"keys":[${lines === '' ? '' : `\n${lines}\n`}]}\n`;
}

/**
 * @param text the content of the file
 * @param file the name of the file, used in errors
 * @returns the day for the id of each key
 * @throws Error that names the fault; for a file of another version, it names both versions
 */
export function parseKeyUsage(text: string, file: string): Map<number, string> {
  let found: { version?: unknown; keys?: unknown };
  try {
    found = JSON.parse(text) ?? {};
  } catch (cause) {
    throw new Error(`${file} is damaged: it is not JSON.`, { cause });
  }
  if (found.version !== VERSION) {
    throw new Error(
      `${file} has version ${JSON.stringify(found.version)}; this program reads version ${VERSION}.`,
    );
  }
  if (!Array.isArray(found.keys)) {
    throw new Error(`${file} is damaged: "keys" is not a list.`);
  }
  return new Map(
    found.keys.map((entry: { id?: unknown; day?: unknown } | null, index): [number, string] => {
      const { id, day } = entry ?? {};
      if (typeof id !== 'number' || !Number.isSafeInteger(id) || !isDay(day)) {
        throw new Error(`${file} is damaged: entry ${index + 1} is not a day of a key.`);
      }
      return [id, day];
    }),
  );
}

function isDay(value: unknown): value is string {
  return typeof value === 'string' && DAY.test(value);
}
