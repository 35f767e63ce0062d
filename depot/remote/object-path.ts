/** The paths of objects: every implementation refuses the same ones. */

const PATH = /^(?!\.)[A-Za-z0-9._~-]{1,200}(?:\/(?!\.)[A-Za-z0-9._~-]{1,200})*$/;

/** @throws Error if the path could lead out of the store, or needs encoding in an address */
export function checkObjectPath(path: string): void {
  if (PATH.test(path)) return;
  throw new Error(`${JSON.stringify(path)} is not the path of an object in a remote store.`);
}

/** @throws Error if a text is not the beginning of paths: empty, or a path that may end with "/" */
export function checkPrefix(prefix: string): void {
  if (prefix !== '') checkObjectPath(prefix.endsWith('/') ? prefix.slice(0, -1) : prefix);
}
