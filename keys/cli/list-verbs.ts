/** The verbs that list keys and requests, the history of a key, and the outbox. */
import type { Database } from '../../database/database.ts';
import { KEY_STATES } from '../../format/api-key.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import { eventsOf } from '../lifecycle/history.ts';
import { findKey, listKeys } from '../lifecycle/key-lists.ts';
import { noSuchKey } from '../lifecycle/refusal.ts';
import { type Mailer, makeMailer } from '../mail/mailer.ts';
import { listMails, retryAll, sendDueMails } from '../mail/outbox.ts';
import { idOf, makeVerb, type Verb } from './arguments.ts';
import { asJson, eventsAsTable, keysAsTable, mailsAsTable } from './text-tables.ts';

export const LIST_VERBS: Readonly<Record<string, Verb>> = {
  list: makeVerb({
    usage: 'list [--state STATE] [--text TEXT] [--json]',
    help: `Lists keys and requests, oldest first. STATE is one of ${KEY_STATES.join(', ')}; TEXT is searched for in purpose, website, prefix and account.`,
    options: {
      state: { type: 'string' },
      text: { type: 'string' },
      json: { type: 'boolean' },
    },
    positionals: [],
    prepare({ options: { state: name, text, json } }) {
      const state = KEY_STATES.find((known) => known === name);
      if (name !== undefined && state === undefined) {
        throw new ConfigurationError(
          `--state must be one of ${KEY_STATES.join(', ')}, not ${JSON.stringify(name)}.`,
        );
      }
      const filter = { state, text };
      return async (database) => {
        const keys = await listKeys(database, filter);
        return { data: json ? asJson(keys) : keysAsTable(keys) };
      };
    },
  }),
  history: makeVerb({
    usage: 'history ID [--json]',
    help: 'Shows who did what to a key and when, oldest first. The history cannot be changed.',
    options: { json: { type: 'boolean' } },
    positionals: ['ID'],
    prepare({ positionals, options }) {
      const id = idOf(positionals);
      return async (database) => {
        if ((await findKey(database, id)) === undefined) throw noSuchKey(id);
        const events = await eventsOf(database, id);
        return { data: options.json ? asJson(events) : eventsAsTable(events) };
      };
    },
  }),
  outbox: makeVerb({
    usage: 'outbox [--all] [--send] [--json]',
    help: 'Lists the e-mails that were not sent; with --all, also those that were. --send first tries to send all unsent e-mails, including those that were given up.',
    options: {
      all: { type: 'boolean' },
      send: { type: 'boolean' },
      json: { type: 'boolean' },
    },
    positionals: [],
    prepare({ options: { all, send, json }, mail }) {
      const mailer = send ? makeMailer(mail) : undefined;
      return async (database) => {
        const sent = mailer && (await sendAll(database, mailer));
        const mails = await listMails(database, all === true);
        return {
          ...(sent === undefined ? {} : { message: `${sent} sent.` }),
          data: json ? asJson(mails) : mailsAsTable(mails),
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
