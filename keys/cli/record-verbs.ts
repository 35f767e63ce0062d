/** The verbs that show: keys and requests, the history of one, and the mails on their way. */
import type { Database } from '../../database/database.ts';
import { ConfigurationError } from '../../program/environment/environment.ts';
import { eventsOf } from '../lifecycle/history.ts';
import { findKey, listKeys } from '../lifecycle/key-lists.ts';
import { KEY_STATES, type KeyState, noSuchKey } from '../lifecycle/requests.ts';
import { type Mailer, makeMailer } from '../mail/mailer.ts';
import { listMails, retryAll, sendDueMails } from '../mail/outbox.ts';
import { idOf, type Verb } from './arguments.ts';
import { asJson, eventsAsTable, keysAsTable, mailsAsTable } from './listing.ts';

export const RECORD_VERBS: Readonly<Record<string, Verb>> = {
  list: {
    usage: 'list [--state STATE] [--text TEXT] [--json]',
    help: `Lists keys and requests, oldest first. STATE is one of ${KEY_STATES.join(', ')}; TEXT is looked for in purpose, website, prefix and account.`,
    options: {
      state: { type: 'string' },
      text: { type: 'string' },
      json: { type: 'boolean' },
    },
    positionals: [],
    prepare({ options: { state, text, json } }) {
      if (state !== undefined && !KEY_STATES.includes(state as KeyState)) {
        throw new ConfigurationError(
          `--state must be one of ${KEY_STATES.join(', ')}, not ${JSON.stringify(state)}.`,
        );
      }
      const filter = { state: state as KeyState | undefined, text: text as string | undefined };
      return async (database) => {
        const keys = await listKeys(database, filter);
        return { data: json ? asJson(keys) : keysAsTable(keys) };
      };
    },
  },
  history: {
    usage: 'history ID [--json]',
    help: 'Shows who did what to a key and when, oldest first. Nothing of it can be changed.',
    options: { json: { type: 'boolean' } },
    positionals: ['ID'],
    prepare(args) {
      const id = idOf(args);
      return async (database) => {
        if ((await findKey(database, id)) === undefined) throw noSuchKey(id);
        const events = await eventsOf(database, id);
        return { data: args.options.json ? asJson(events) : eventsAsTable(events) };
      };
    },
  },
  outbox: {
    usage: 'outbox [--all] [--send] [--json]',
    help: 'Lists the mails that were not sent; with --all, the sent ones too. --send first tries all of them now, those given up as well.',
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
          ...(sent === undefined ? {} : { said: `${sent} sent.` }),
          data: json ? asJson(mails) : mailsAsTable(mails),
        };
      };
    },
  },
};

/** Tries every mail that was not sent. @returns how many were sent now */
async function sendAll(database: Database, mailer: Mailer): Promise<number> {
  const now = new Date();
  await retryAll(database, now);
  let sent = 0;
  for (;;) {
    const round = await sendDueMails(database, mailer, now);
    sent += round.sent;
    // One failure alone: it was the last mail, or nobody takes any.
    if (round.sent === 0 && round.failed <= 1) return sent;
  }
}
