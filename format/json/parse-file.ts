/** Parses the JSON files of the snapshots folder that have a version of their own. */

/**
 * @param file the name of the file, used in errors
 * @returns the members of the file; only `version` has been checked
 * @throws Error that says what is wrong; for a file of another version, with both versions
 */
export function parseFile(
  text: string,
  file: string,
  version: number,
): Partial<Record<string, unknown>> {
  let found: Partial<Record<string, unknown>>;
  try {
    found = JSON.parse(text) ?? {};
  } catch (cause) {
    throw new Error(`${file} is damaged: it is not JSON.`, { cause });
  }
  if (found.version === version) return found;
  throw new Error(
    `${file} has version ${JSON.stringify(found.version)}; this program reads version ${version}.`,
  );
}
