/**
 * Keys as text: a table for a terminal, JSON for programs. Purposes and addresses were typed by
 * strangers: no character of theirs may steer the terminal or turn the direction of the line.
 */
import type { KeyRow } from './key-lists.ts';

const LONGEST_CELL = 60;
/** Control and formatting characters, line and paragraph separators, and what is no character. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** One line a key below a line of headings. The longest column, purpose, comes last. */
export function keysAsTable(keys: readonly KeyRow[]): string {
  const rows = keys.map((key) => [
    String(key.id),
    key.state,
    String(key.limit_per_minute),
    key.key_prefix ?? '-',
    `${key.requested_at}Z`,
    key.website_url === '' ? '-' : key.website_url,
    key.purpose === '' ? '-' : key.purpose,
  ]);
  const table = [
    ['ID', 'STATE', 'LIMIT', 'PREFIX', 'REQUESTED', 'WEBSITE', 'PURPOSE'],
    ...rows,
  ].map((row) => row.map(toCell));
  const widths = table.reduce<number[]>(
    (widest, row) => row.map((cell, place) => Math.max(widest[place] ?? 0, cell.length)),
    [],
  );
  return table
    .map(
      (row) =>
        `${row
          .map((cell, place) => cell.padEnd(widths[place] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

/** A JSON array, one key a line, with every column that may be shown. */
export function keysAsJson(keys: readonly KeyRow[]): string {
  if (keys.length === 0) return '[]\n';
  return `[\n${keys.map((key) => JSON.stringify(key).replace(STEERING, toEscape)).join(',\n')}\n]\n`;
}

function toCell(text: string): string {
  const shown = [...text.slice(0, LONGEST_CELL * 2).replace(STEERING, toEscape)];
  if (shown.length <= LONGEST_CELL && text.length <= LONGEST_CELL * 2) return shown.join('');
  return `${shown.slice(0, LONGEST_CELL - 1).join('')}…`;
}

// Of the form that JSON reads back as the same character.
function toEscape(character: string): string {
  let escaped = '';
  for (let i = 0; i < character.length; i++) {
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}
