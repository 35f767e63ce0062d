/** The verbs for keys and requests, their usage, and the outbox. */
import type { Database } from '../../lib/database/database.ts';
import { KEY_STATES } from '../../lib/format/api-key.ts';
import { KEPT_USAGE_DAYS, type Usage } from '../../lib/format/key-usage-file.ts';
import { LARGEST_LIMIT } from '../../lib/format/keys-file.ts';
import { type Arguments, readValue } from '../../lib/program/arguments.ts';
import { oneOfWords, wholeNumber } from '../../lib/program/environment/values.ts';
import { exportKeys } from '../export/export-keys.ts';
import { findKey, type KeyRow, listKeys } from '../lifecycle/key-lists.ts';
import {
  type DayOfUse,
  type KeyUse,
  mostUsedKeys,
  totalOf,
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
  suggestedLimit,
} from '../lifecycle/reviews.ts';
import { type Mailer, makeMailer } from '../mail/mailer.ts';
import { listMails, type QueuedMail, retryAll, sendDueMails } from '../mail/outbox.ts';
import { asText, type TextColumn } from './text-tables.ts';
import { type KeySettings, parseId, requireText, type Verb } from './verb.ts';

const DEFAULT_DAYS = '30';

const utc = (time: string | null) => time && `${time}Z`;

/** The longest column, the purpose, comes last. */
const KEY_COLUMNS: readonly TextColumn<KeyRow>[] = [
  ['ID', ({ id }) => id],
  ['STATE', ({ state }) => state],
  ['ACCOUNT', ({ account_id }) => account_id],
  ['LIMIT', ({ limit_per_minute }) => limit_per_minute],
  ['PREFIX', ({ key_prefix }) => key_prefix],
  ['OLD KEY', oldKeyOf],
  ['LAST USED', ({ last_used_at }) => utc(last_used_at)],
  ['REQUESTED', ({ requested_at }) => utc(requested_at)],
  ['LIMIT OF', ({ limit_of }) => limit_of],
  ['NAME', ({ name }) => name],
  ['WEBSITE', ({ website_url }) => website_url],
  ['PURPOSE', ({ purpose }) => purpose],
];
const USE_COLUMNS: readonly TextColumn<Usage>[] = [
  ['REQUESTS', ({ requests }) => requests],
  ['429', ({ refused }) => refused],
];
const KEY_USE_COLUMNS: readonly TextColumn<KeyUse>[] = [
  ['ID', ({ key_id }) => key_id],
  ['ACCOUNT', ({ account_id }) => account_id],
  ...USE_COLUMNS,
  ['PURPOSE', ({ purpose }) => purpose],
];
const DAY_COLUMNS: readonly TextColumn<DayOfUse>[] = [['DAY', ({ day }) => day], ...USE_COLUMNS];
const MAIL_COLUMNS: readonly TextColumn<QueuedMail>[] = [
  ['ID', ({ id }) => id],
  ['CREATED', ({ created_at }) => utc(created_at)],
  ['STATE', stateOf],
  ['TRIES', ({ attempts }) => attempts],
  ['RECIPIENT', ({ recipient }) => recipient],
  ['SUBJECT', ({ subject }) => subject],
  ['ERROR', ({ last_error }) => last_error],
];

function oldKeyOf({ old_key_prefix, old_key_ends_at }: KeyRow): string | null {
  return old_key_ends_at && `${old_key_prefix} until ${utc(old_key_ends_at)}`;
}

function stateOf({ sent_at, next_attempt_at }: QueuedMail): string {
  if (sent_at !== null) return `sent ${utc(sent_at)}`;
  return next_attempt_at === null ? 'given up' : `due ${utc(next_attempt_at)}`;
}

/** Parses the first argument, the id of a key. */
function idOf({ positionals: [text] }: Arguments): number {
  const parse = (digits: string) => (/^[1-9]\d{0,14}$/.test(digits) ? Number(digits) : undefined);
  return parseId(text, parse, 'The id of a key is a number, as "list" shows it');
}

const parseLimit = wholeNumber(1, LARGEST_LIMIT);

/** The value of `--limit`; undefined without it. */
function limitIn({ texts: { limit } }: Arguments): number | undefined {
  return limit === undefined ? limit : readValue('--limit', limit, parseLimit);
}

/** The part of a review that is the same for every verb: an operator acts, now. */
function operator({ publicUrl }: KeySettings) {
  return { by: null, at: new Date(), publicUrl };
}

/** Makes a verb that ends a request or a key, and tells its owner why. */
function makeVerbWithReason(
  name: string,
  help: string,
  done: string,
  end: (database: Database, id: number, review: ReviewWithReason) => Promise<void>,
): Verb {
  return {
    usage: `${name} ID --reason TEXT`,
    help: `${help} Its owner gets the reason by e-mail.`,
    prepare(args, settings) {
      const id = idOf(args);
      const why = 'the owner of the key gets it by e-mail';
      const reason = requireText('--reason', args.texts.reason, why);
      return async (database) => {
        await end(database, id, { reason, ...operator(settings) });
        return { message: `Key ${id} is ${done}.` };
      };
    },
  };
}

export const KEY_VERBS: readonly Verb[] = [
  {
    usage: 'issue [--limit N] [--note TEXT] [--for-explorer]',
    help: 'Creates an approved key without an account and prints it once. The limit is in requests per minute (default: DEFAULT_RATE_LIMIT). With --for-explorer, prints a line for the settings of the proxy (default: --limit 600).',
    prepare(args, settings) {
      const isForExplorer = args.switches.has('for-explorer');
      const limit = limitIn(args) ?? (isForExplorer ? 600 : settings.defaultLimit);
      const purpose = args.texts.note ?? (isForExplorer ? 'explorer' : '');
      return async (database) => {
        const { id, key } = await issueKey(database, { limit, purpose, at: new Date() });
        return {
          message: `Key ${id} is issued with ${limit} requests a minute. It is shown only once:`,
          data: `${isForExplorer ? 'EXPLORER_KEY=' : ''}${key}\n`,
        };
      };
    },
  },
  {
    usage: 'approve ID [--limit N]',
    help: 'Approves a pending request. For the limit, see "issue". A request for a higher limit raises the limit of its key, to what it asks for without --limit.',
    prepare(args, settings) {
      const id = idOf(args);
      const given = limitIn(args);
      return async (database) => {
        const request = await findKey(database, id);
        if (request === undefined) throw noSuchKey(id);
        const limit = given ?? suggestedLimit(request, settings.defaultLimit);
        await approveRequest(database, id, { limit, ...operator(settings) });
        const { limit_of } = request;
        return {
          message:
            limit_of === null
              ? `Key ${id} is approved with ${limit} requests a minute; its owner can reveal it now.`
              : `Request ${id} is approved: key ${limit_of} has ${limit} requests a minute now.`,
        };
      };
    },
  },
  makeVerbWithReason('reject', 'Rejects a pending request.', 'rejected', rejectRequest),
  makeVerbWithReason('revoke', 'Revokes an approved key permanently.', 'revoked', revokeKey),
  {
    usage: 'export [--force]',
    help: 'Writes keys.json in SNAPSHOTS_DIR, as "cover-catalogue schedule" does every two seconds. With --force, also if most of its keys are not in the table of keys: those stop working.',
    prepare({ switches }, { snapshotsDir }) {
      return async (database) => {
        await exportKeys(database, snapshotsDir, switches.has('force'));
        return { message: `The keys are exported to ${snapshotsDir}.` };
      };
    },
  },
  {
    usage: 'limit ID N',
    help: 'Changes the limit of an approved key, in requests per minute.',
    prepare(args, settings) {
      const id = idOf(args);
      const limit = readValue('N', args.positionals[1], parseLimit);
      return async (database) => {
        await changeLimit(database, id, { limit, ...operator(settings) });
        return { message: `Key ${id} has ${limit} requests a minute now.` };
      };
    },
  },
  {
    usage: 'rotate ID',
    help: 'Replaces a revealed key with a new one and prints it once. The old key stops working. Its owner gets an e-mail.',
    prepare(args, { publicUrl }) {
      const id = idOf(args);
      return async (database) => {
        const own = { id, accountId: null, at: new Date(), publicUrl };
        const { key } = await rotateKey(database, own);
        return {
          message: `Key ${id} is rotated; the old one stops working. The new one is shown only once:`,
          data: `${key}\n`,
        };
      };
    },
  },
  {
    usage: 'list [--state STATE] [--text TEXT] [--json]',
    help: `Lists keys and requests, oldest first. STATE is one of ${KEY_STATES.join(', ')}; TEXT is searched for in name, purpose, website, prefixes and account. LIMIT OF is the key for which a request asks a higher limit, and LIMIT what it asks for.`,
    prepare(args) {
      const { state: name, text } = args.texts;
      const state =
        name === undefined ? name : readValue('--state', name, oneOfWords(...KEY_STATES));
      return async (database) => {
        return {
          data: asText(args.switches, KEY_COLUMNS, await listKeys(database, { state, text })),
        };
      };
    },
  },
  {
    usage: 'usage [ID] [--days N] [--json]',
    help: `Shows what a key has used on each of the last N days in UTC, today included (default: ${DEFAULT_DAYS}); without ID, what each key has used, the most used first.`,
    prepare(args) {
      const { days: text = DEFAULT_DAYS } = args.texts;
      const days = readValue('--days', text, wholeNumber(1, KEPT_USAGE_DAYS));
      const id = args.positionals.length === 0 ? undefined : idOf(args);
      return async (database) => {
        const period = { days, now: new Date() };
        if (id === undefined) {
          return {
            data: asText(args.switches, KEY_USE_COLUMNS, await mostUsedKeys(database, period)),
          };
        }
        if ((await findKey(database, id)) === undefined) throw noSuchKey(id);
        const used = (await usageOf(database, [id], period)).get(id) ?? [];
        const total = { day: 'total', ...totalOf(used) };
        const isTable = !args.switches.has('json');
        return { data: asText(args.switches, DAY_COLUMNS, isTable ? [...used, total] : used) };
      };
    },
  },
  {
    usage: 'outbox [--all] [--send] [--json]',
    help: 'Lists the e-mails that were not sent; with --all, also those that were. --send first tries to send all unsent e-mails, including those that were given up.',
    prepare(args, { mail }) {
      const mailer = args.switches.has('send') ? makeMailer(mail) : undefined;
      return async (database) => {
        const sent = mailer && (await sendAll(database, mailer));
        const mails = await listMails(database, args.switches.has('all'));
        return {
          ...(sent === undefined ? {} : { message: `${sent} sent.` }),
          data: asText(args.switches, MAIL_COLUMNS, mails),
        };
      };
    },
  },
];

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
