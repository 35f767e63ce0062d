/** The verbs for keys and requests, their usage, and the outbox. */
import type { Database } from '../../database/database.ts';
import { KEY_STATES } from '../../format/api-key.ts';
import { KEPT_USAGE_DAYS } from '../../format/key-usage.ts';
import { LARGEST_LIMIT } from '../../format/keys-file.ts';
import { findKey, type KeyRow, listKeys } from '../lifecycle/key-lists.ts';
import {
  type DayOfUse,
  type KeyUse,
  mostUsedKeys,
  totalOf,
  type Use,
  usageOf,
} from '../lifecycle/key-usage.ts';
import { rotateKey } from '../lifecycle/own-keys.ts';
import { noSuchKey } from '../lifecycle/refusal.ts';
import {
  approveRequest,
  changeLimit,
  issueKey,
  type ReviewWithReason,
  rejectRequest,
  revokeKey,
} from '../lifecycle/reviews.ts';
import { type Mailer, makeMailer } from '../mail/mailer.ts';
import { listMails, type QueuedMail, retryAll, sendDueMails } from '../mail/outbox.ts';
import {
  makeVerb,
  parseChoice,
  parseCount,
  parseId,
  requireText,
  type Settings,
  type Verb,
} from './arguments.ts';
import { asJson, asTable, type Column } from './text-tables.ts';

const LIMIT = { limit: { type: 'string' } } as const;
const JSON_OPTION = { json: { type: 'boolean' } } as const;
const DEFAULT_DAYS = 30;

const utc = (time: string) => `${time}Z`;

/** The longest column, the purpose, comes last. */
const KEY_COLUMNS: readonly Column<KeyRow>[] = [
  ['ID', ({ id }) => id],
  ['STATE', ({ state }) => state],
  ['ACCOUNT', ({ account_id }) => account_id],
  ['LIMIT', ({ limit_per_minute }) => limit_per_minute],
  ['PREFIX', ({ key_prefix }) => key_prefix],
  ['REQUESTED', ({ requested_at }) => utc(requested_at)],
  ['NAME', ({ name }) => name],
  ['WEBSITE', ({ website_url }) => website_url],
  ['PURPOSE', ({ purpose }) => purpose],
];
const USE_COLUMNS: readonly Column<Use>[] = [
  ['REQUESTS', ({ requests }) => requests],
  ['304', ({ not_modified }) => not_modified],
  ['429', ({ refused }) => refused],
  ['BYTES', ({ bytes }) => bytes],
];
const KEY_USE_COLUMNS: readonly Column<KeyUse>[] = [
  ['ID', ({ key_id }) => key_id],
  ['ACCOUNT', ({ account_id }) => account_id],
  ...USE_COLUMNS,
  ['PURPOSE', ({ purpose }) => purpose],
];
const DAY_COLUMNS: readonly Column<DayOfUse>[] = [['DAY', ({ day }) => day], ...USE_COLUMNS];
const MAIL_COLUMNS: readonly Column<QueuedMail>[] = [
  ['ID', ({ id }) => id],
  ['CREATED', ({ created_at }) => utc(created_at)],
  ['STATE', stateOf],
  ['TRIES', ({ attempts }) => attempts],
  ['RECIPIENT', ({ recipient }) => recipient],
  ['SUBJECT', ({ subject }) => subject],
  ['ERROR', ({ last_error }) => last_error],
];

function stateOf({ sent_at, next_attempt_at }: QueuedMail): string {
  if (sent_at !== null) return `sent ${utc(sent_at)}`;
  return next_attempt_at === null ? 'given up' : `due ${utc(next_attempt_at)}`;
}

/** Parses the first argument, the id of a key. */
function idOf([text = '']: readonly string[]): number {
  return parseId(text, 'The id of a key is a number, as "list" shows it');
}

/** The value of `--limit`, or else of DEFAULT_RATE_LIMIT. */
function limitOf({ limit }: { limit?: string }, { defaultLimit }: Settings): number {
  return limit === undefined ? defaultLimit : parseCount('--limit', limit, LARGEST_LIMIT);
}

/** The part of a review that is the same for every verb: an operator acts, now. */
function operator({ publicUrl }: Settings) {
  return { by: null, at: new Date(), publicUrl };
}

/** Makes a verb that ends a request or a key, and tells its owner why. */
function makeVerbWithReason(
  name: string,
  help: string,
  done: string,
  end: (database: Database, id: number, review: ReviewWithReason) => Promise<void>,
): Verb {
  return makeVerb({
    usage: `${name} ID --reason TEXT`,
    help: `${help} Its owner gets the reason by e-mail.`,
    options: { reason: { type: 'string' } },
    positionals: ['ID'],
    prepare({ positionals, options: { reason: text }, ...settings }) {
      const id = idOf(positionals);
      const reason = requireText('--reason', text, 'the owner of the key gets it by e-mail');
      return async (database) => {
        await end(database, id, { reason, ...operator(settings) });
        return { message: `Key ${id} is ${done}.` };
      };
    },
  });
}

export const KEY_VERBS: Readonly<Record<string, Verb>> = {
  issue: makeVerb({
    usage: 'issue [--limit N] [--note TEXT]',
    help: 'Creates an approved key without an account and prints it once. The limit is in requests per minute (default: DEFAULT_RATE_LIMIT).',
    options: { ...LIMIT, note: { type: 'string' } },
    positionals: [],
    prepare({ options, ...settings }) {
      const limit = limitOf(options, settings);
      const purpose = options.note ?? '';
      return async (database) => {
        const { id, key } = await issueKey(database, { limit, purpose, at: new Date() });
        return {
          message: `Key ${id} is issued with ${limit} requests a minute. It is shown only once:`,
          data: `${key}\n`,
        };
      };
    },
  }),
  approve: makeVerb({
    usage: 'approve ID [--limit N]',
    help: 'Approves a pending request. For the limit, see "issue".',
    options: LIMIT,
    positionals: ['ID'],
    prepare({ positionals, options, ...settings }) {
      const id = idOf(positionals);
      const limit = limitOf(options, settings);
      return async (database) => {
        await approveRequest(database, id, { limit, ...operator(settings) });
        return {
          message: `Key ${id} is approved with ${limit} requests a minute; its owner can reveal it now.`,
        };
      };
    },
  }),
  reject: makeVerbWithReason('reject', 'Rejects a pending request.', 'rejected', rejectRequest),
  revoke: makeVerbWithReason(
    'revoke',
    'Revokes an approved key permanently.',
    'revoked',
    revokeKey,
  ),
  limit: makeVerb({
    usage: 'limit ID N',
    help: 'Changes the limit of an approved key, in requests per minute.',
    options: {},
    positionals: ['ID', 'N'],
    prepare({ positionals, ...settings }) {
      const id = idOf(positionals);
      const limit = parseCount('N', positionals[1], LARGEST_LIMIT);
      return async (database) => {
        await changeLimit(database, id, { limit, ...operator(settings) });
        return { message: `Key ${id} has ${limit} requests a minute now.` };
      };
    },
  }),
  rotate: makeVerb({
    usage: 'rotate ID',
    help: 'Replaces a revealed key with a new one and prints it once. The old key stops working. Its owner gets an e-mail.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals, publicUrl }) {
      const id = idOf(positionals);
      return async (database) => {
        const own = { id, accountId: null, at: new Date(), publicUrl };
        const { key } = await rotateKey(database, own);
        return {
          message: `Key ${id} is rotated; the old one stops working. The new one is shown only once:`,
          data: `${key}\n`,
        };
      };
    },
  }),
  list: makeVerb({
    usage: 'list [--state STATE] [--text TEXT] [--json]',
    help: `Lists keys and requests, oldest first. STATE is one of ${KEY_STATES.join(', ')}; TEXT is searched for in name, purpose, website, prefix and account.`,
    options: { state: { type: 'string' }, text: { type: 'string' }, ...JSON_OPTION },
    positionals: [],
    prepare({ options: { state: name, text, json } }) {
      const state = name === undefined ? undefined : parseChoice('--state', name, KEY_STATES);
      return async (database) => {
        const keys = await listKeys(database, { state, text });
        return { data: json ? asJson(keys) : asTable(KEY_COLUMNS, keys) };
      };
    },
  }),
  usage: makeVerb({
    usage: 'usage [ID] [--days N] [--json]',
    help: `Shows what a key has used on each of the last N days in UTC, today included (default: ${DEFAULT_DAYS}); without ID, what each key has used, the most used first.`,
    options: { days: { type: 'string' }, ...JSON_OPTION },
    positionals: [],
    optional: ['ID'],
    prepare({ positionals, options: { days: text = String(DEFAULT_DAYS), json } }) {
      const days = parseCount('--days', text, KEPT_USAGE_DAYS);
      const id = positionals.length === 0 ? undefined : idOf(positionals);
      return async (database) => {
        const period = { days, now: new Date() };
        if (id === undefined) {
          const uses = await mostUsedKeys(database, period);
          return { data: json ? asJson(uses) : asTable(KEY_USE_COLUMNS, uses) };
        }
        if ((await findKey(database, id)) === undefined) throw noSuchKey(id);
        const used = (await usageOf(database, [id], period)).get(id) ?? [];
        const total = { day: 'total', ...totalOf(used) };
        return { data: json ? asJson(used) : asTable(DAY_COLUMNS, [...used, total]) };
      };
    },
  }),
  outbox: makeVerb({
    usage: 'outbox [--all] [--send] [--json]',
    help: 'Lists the e-mails that were not sent; with --all, also those that were. --send first tries to send all unsent e-mails, including those that were given up.',
    options: { all: { type: 'boolean' }, send: { type: 'boolean' }, ...JSON_OPTION },
    positionals: [],
    prepare({ options: { all, send, json }, mail }) {
      const mailer = send ? makeMailer(mail) : undefined;
      return async (database) => {
        const sent = mailer && (await sendAll(database, mailer));
        const mails = await listMails(database, all === true);
        return {
          ...(sent === undefined ? {} : { message: `${sent} sent.` }),
          data: json ? asJson(mails) : asTable(MAIL_COLUMNS, mails),
        };
      };
    },
  }),
};

/**
 * Tries to send every mail that was not sent.
 * @returns how many were sent
 */
async function sendAll(database: Database, mailer: Mailer): Promise<number> {
  const now = new Date();
  await retryAll(database, now);
  let sent = 0;
  for (;;) {
    const round = await sendDueMails(database, mailer, now);
    sent += round.sent;
    // Nothing was sent and at most one mail failed: no mail is left, or the mail server accepts none.
    if (round.sent === 0 && round.failed <= 1) return sent;
  }
}
