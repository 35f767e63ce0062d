/** What is wrong with the markup of a page, as far as a template with a part missing would show. */

const TAG = /^<(\/?)([a-z][a-z0-9]*)(?:\s+[a-z-]+(?:="[^"<>]*")?)*\s*>$/;
/** Elements that have no end tag. */
const EMPTY = new Set(['input', 'link', 'meta']);

/** @returns undefined when every tag is whole and every element that begins ends */
export function faultOfMarkup(page: string): string | undefined {
  const open: string[] = [];
  for (const [piece] of page.replace(/^<!doctype html>/, '').matchAll(/<[^>]*>?|[^<]+/g)) {
    if (!piece.startsWith('<')) {
      // Whatever is put into a page is escaped, so these can only be what is left of a tag.
      if (/[">]/.test(piece)) return `${JSON.stringify(piece)} stands as text`;
      continue;
    }
    const [, end, name = ''] = TAG.exec(piece) ?? [];
    if (end === undefined) return `${piece} is not a tag`;
    if (end === '/' && open.pop() !== name) return `${piece} ends what did not begin`;
    if (end === '' && !EMPTY.has(name)) open.push(name);
  }
  return open.length === 0 ? undefined : `<${open.at(-1)}> does not end`;
}
