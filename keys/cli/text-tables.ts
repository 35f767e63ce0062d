/**
 * Formats keys, events, mails and accounts: as a table for a terminal, or as JSON for programs.
 * Strangers typed much of this text, so characters that control a terminal or change the direction of
 * a line are escaped.
 */
import type { KeyEvent } from '../lifecycle/history.ts';
import type { KeyRow } from '../lifecycle/key-lists.ts';
import { type DayOfUse, type KeyUse, totalOf, type Use } from '../lifecycle/key-usage.ts';
import type { QueuedMail } from '../mail/outbox.ts';
import type { Account } from '../tables/accounts.ts';

const LONGEST_CELL = 60;
/** Control and formatting characters, line and paragraph separators, and unassigned code points. */
const STEERING = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** A line of headings, then one line for each key. The longest column, purpose, comes last. */
export function keysAsTable(keys: readonly KeyRow[]): string {
  return asTable(
    ['ID', 'STATE', 'ACCOUNT', 'LIMIT', 'PREFIX', 'REQUESTED', 'NAME', 'WEBSITE', 'PURPOSE'],
    keys.map((key) => [
      String(key.id),
      key.state,
      key.account_id === null ? null : String(key.account_id),
      String(key.limit_per_minute),
      key.key_prefix,
      utc(key.requested_at),
      key.name,
      key.website_url,
      key.purpose,
    ]),
  );
}

/** A line of headings, then one line for each event. BY is "account" and an id, or "operator". */
export function eventsAsTable(events: readonly KeyEvent[]): string {
  return asTable(
    ['AT', 'ACTION', 'BY', 'LIMIT', 'REASON'],
    events.map((event) => [
      utc(event.at),
      event.action,
      event.actor_id === null ? 'operator' : `account ${event.actor_id}`,
      event.limit_per_minute === null ? null : String(event.limit_per_minute),
      event.reason,
    ]),
  );
}

/** A line of headings, one line for each day, and the total. */
export function usageAsTable(days: readonly DayOfUse[]): string {
  return asTable(
    ['DAY', ...USE_HEADINGS],
    [...days.map((each) => [each.day, ...useCells(each)]), ['total', ...useCells(totalOf(days))]],
  );
}

/** A line of headings, then one line for each key. */
export function keyUsesAsTable(uses: readonly KeyUse[]): string {
  return asTable(
    ['ID', 'ACCOUNT', ...USE_HEADINGS, 'PURPOSE'],
    uses.map((each) => [
      String(each.key_id),
      each.account_id === null ? null : String(each.account_id),
      ...useCells(each),
      each.purpose,
    ]),
  );
}

const USE_HEADINGS = ['REQUESTS', '304', '429', 'BYTES'];

function useCells({ requests, not_modified, refused, bytes }: Use): string[] {
  return [requests, not_modified, refused, bytes].map(String);
}

/** A line of headings, then one line for each account. */
export function accountsAsTable(accounts: readonly Account[]): string {
  return asTable(
    ['ID', 'ROLE', 'EMAIL', 'NAME'],
    accounts.map(({ id, role, email, name }) => [String(id), role, email, name]),
  );
}

/** A line of headings, then one line for each mail. */
export function mailsAsTable(mails: readonly QueuedMail[]): string {
  return asTable(
    ['ID', 'CREATED', 'STATE', 'TRIES', 'RECIPIENT', 'SUBJECT', 'ERROR'],
    mails.map((mail) => [
      String(mail.id),
      utc(mail.created_at),
      stateOf(mail),
      String(mail.attempts),
      mail.recipient,
      mail.subject,
      mail.last_error,
    ]),
  );
}

/** A JSON array with one row on each line. */
export function asJson(rows: readonly object[]): string {
  if (rows.length === 0) return '[]\n';
  return `[\n${rows.map((row) => JSON.stringify(row).replace(STEERING, toEscape)).join(',\n')}\n]\n`;
}

function stateOf({ sent_at, next_attempt_at }: QueuedMail): string {
  if (sent_at !== null) return `sent ${utc(sent_at)}`;
  return next_attempt_at === null ? 'given up' : `due ${utc(next_attempt_at)}`;
}

function utc(time: string): string {
  return `${time}Z`;
}

function asTable(headings: readonly string[], rows: readonly (string | null)[][]): string {
  const table = [headings, ...rows].map((row) => row.map((cell) => toCell(cell || '-')));
  const widths = table.reduce<number[]>(
    (widest, row) => row.map((cell, column) => Math.max(widest[column] ?? 0, cell.length)),
    [],
  );
  return table
    .map(
      (row) =>
        `${row
          .map((cell, column) => cell.padEnd(widths[column] ?? 0))
          .join('  ')
          .trimEnd()}\n`,
    )
    .join('');
}

function toCell(text: string): string {
  const shown = [...text.slice(0, LONGEST_CELL * 2).replace(STEERING, toEscape)];
  if (shown.length <= LONGEST_CELL && text.length <= LONGEST_CELL * 2) return shown.join('');
  return `${shown.slice(0, LONGEST_CELL - 1).join('')}…`;
}

// In the syntax of JSON, so that programs read the same character back.
function toEscape(character: string): string {
  let escaped = '';
  for (let i = 0; i < character.length; i++) {
    escaped += `\\u${character.charCodeAt(i).toString(16).padStart(4, '0')}`;
  }
  return escaped;
}
