/** The current time in the form that files store it in: RFC 3339, UTC, whole seconds. */
export function utcNow(): string {
  return `${new Date().toISOString().slice(0, 19)}Z`;
}
