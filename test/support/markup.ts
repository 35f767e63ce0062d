/** Finds the faults in the markup of a page that a broken template causes. */

const TAG = /^<(\/?)([a-z][a-z0-9]*)(?:\s+[a-zA-Z-]+(?:="[^"<>]*")?)*\s*>$/;
/** Elements that have no end tag. */
const EMPTY = new Set(['br', 'img', 'input', 'link', 'meta']);

/** @returns undefined if every tag is complete and every element is closed */
export function faultOfMarkup(page: string): string | undefined {
  const open: string[] = [];
  for (const [piece] of page.replace(/^<!doctype html>/, '').matchAll(/<[^>]*>?|[^<]+/g)) {
    if (!piece.startsWith('<')) {
      // All content is escaped, so these characters can only be the rest of a tag.
      if (/[">]/.test(piece)) return `${JSON.stringify(piece)} appears as text`;
      continue;
    }
    const [, end, name = ''] = TAG.exec(piece) ?? [];
    if (end === undefined) return `${piece} is not a tag`;
    if (end === '/' && open.pop() !== name) return `${piece} closes an element that is not open`;
    if (end === '' && !EMPTY.has(name)) open.push(name);
  }
  return open.length === 0 ? undefined : `<${open.at(-1)}> is not closed`;
}
