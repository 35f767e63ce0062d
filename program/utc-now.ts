/** The time of this moment as the files of a run store it: RFC 3339 UTC, whole seconds. */
export function utcNow(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
