/**
 * Finds the secrets in the environment, so that no output contains them. The checks do not print
 * secrets; this is the last barrier, for messages of libraries and servers.
 */

/** Variables whose whole value is secret, unless it is the path of a file. */
const SECRET_NAME = /SECRET|PASSWORD|TOKEN|_KEY(?:_ID)?$/;
/** The password in an address: "//user:password@" or "//:password@". */
const URL_PASSWORD = /\/\/[^/?#@\s:]*:(\S+)@/g;
/** Parameters of addresses, such as the one of Sentinel. */
const PARAMETER = /[?&][a-z]*password=([^&#\s]+)/gi;
const API_KEY = /\bcck_[A-Za-z0-9_-]+/g;
/** Shorter texts also occur by chance. They are only removed where an address has its password. */
const SHORTEST = 6;
const MASK = '***';

/**
 * @param isFile whether a value is the path of a file
 * @returns a function that replaces every secret in a text
 */
export function makeRedaction(
  variables: Readonly<Record<string, string | undefined>>,
  isFile: (value: string) => boolean,
): (text: string) => string {
  const secrets = new Set<string>();
  for (const [name, text = ''] of Object.entries(variables)) {
    const value = text.trim();
    if (SECRET_NAME.test(name) && !isFile(value)) secrets.add(value);
    for (const pattern of [URL_PASSWORD, PARAMETER]) {
      for (const [, password = ''] of value.matchAll(pattern)) {
        secrets.add(password).add(decoded(password));
      }
    }
  }
  // The longest first: a secret may contain another one.
  const found = [...secrets]
    .filter((secret) => secret.length >= SHORTEST)
    .sort((a, b) => b.length - a.length);
  return (text) => {
    const masked = found.reduce((rest, secret) => rest.replaceAll(secret, MASK), text);
    return masked
      .replace(URL_PASSWORD, (whole, password: string) =>
        whole.replace(`:${password}@`, `:${MASK}@`),
      )
      .replace(API_KEY, MASK);
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
