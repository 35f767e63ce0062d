/**
 * The verbs of `npm run keys`: what each is called with and does. Data goes to stdout, everything
 * else to stderr; a raw key is printed once, alone on stdout.
 */
import type { ParseArgsOptionsConfig } from 'node:util';
import type { Database } from '../database/database.ts';
import { ConfigurationError } from '../environment/environment.ts';
import { LARGEST_LIMIT } from '../format/keys-file.ts';
import { listKeys } from './key-lists.ts';
import { keysAsJson, keysAsTable } from './listing.ts';
import {
  approveRequest,
  changeLimit,
  issueKey,
  KEY_STATES,
  type KeyState,
  rejectRequest,
  revokeKey,
} from './requests.ts';

/** What the command line held after the verb. */
export interface Arguments {
  readonly options: Readonly<Record<string, string | boolean | undefined>>;
  readonly positionals: readonly string[];
  /** Requests a minute where no `--limit` is given. */
  readonly defaultLimit: number;
  /** Where the pages are reached, for links in mails. */
  readonly publicUrl: string;
}

export interface Verb {
  readonly usage: string;
  readonly help: string;
  readonly options: ParseArgsOptionsConfig;
  /** What each argument without a name is, in order; none may be left out. */
  readonly positionals: readonly string[];
  /**
   * Reads the arguments, before any database is opened.
   * @throws ConfigurationError when they are wrong
   */
  prepare(args: Arguments): (database: Database) => Promise<void>;
}

const LIMIT: ParseArgsOptionsConfig = { limit: { type: 'string' } };
const REASON: ParseArgsOptionsConfig = { reason: { type: 'string' } };

export const VERBS: Readonly<Record<string, Verb>> = {
  issue: {
    usage: 'issue [--limit N] [--note TEXT]',
    help: 'Makes an approved key and prints it, once. N is in requests a minute (DEFAULT_RATE_LIMIT).',
    options: { ...LIMIT, note: { type: 'string' } },
    positionals: [],
    prepare(args) {
      const limit = limitOf(args) ?? args.defaultLimit;
      const purpose = String(args.options.note ?? '');
      return async (database) => {
        const { id, key } = await issueKey(database, { limit, purpose, at: new Date() });
        say(`Key ${id} is issued with ${limit} requests a minute. It is shown this once:`);
        process.stdout.write(`${key}\n`);
      };
    },
  },
  list: {
    usage: 'list [--state STATE] [--json]',
    help: `Lists keys and requests, oldest first. STATE is one of ${KEY_STATES.join(', ')}.`,
    options: { state: { type: 'string' }, json: { type: 'boolean' } },
    positionals: [],
    prepare(args) {
      const { state, json } = args.options;
      if (state !== undefined && !KEY_STATES.includes(state as KeyState)) {
        throw new ConfigurationError(
          `--state must be one of ${KEY_STATES.join(', ')}, not ${JSON.stringify(state)}.`,
        );
      }
      return async (database) => {
        const keys = await listKeys(database, { state: state as KeyState | undefined });
        process.stdout.write(json ? keysAsJson(keys) : keysAsTable(keys));
      };
    },
  },
  approve: {
    usage: 'approve ID [--limit N]',
    help: 'Grants a pending request. N is in requests a minute (DEFAULT_RATE_LIMIT).',
    options: LIMIT,
    positionals: ['ID'],
    prepare(args) {
      const id = idOf(args);
      const limit = limitOf(args) ?? args.defaultLimit;
      return async (database) => {
        await approveRequest(database, id, { limit, ...operator(args) });
        say(`Key ${id} is approved with ${limit} requests a minute; its owner can reveal it now.`);
      };
    },
  },
  reject: {
    usage: 'reject ID --reason TEXT',
    help: 'Turns a pending request down. The reason is told to its owner.',
    options: REASON,
    positionals: ['ID'],
    prepare(args) {
      const id = idOf(args);
      const reason = reasonOf(args);
      return async (database) => {
        await rejectRequest(database, id, { reason, ...operator(args) });
        say(`Key ${id} is rejected.`);
      };
    },
  },
  revoke: {
    usage: 'revoke ID --reason TEXT',
    help: 'Ends an approved key for good. The reason is told to its owner.',
    options: REASON,
    positionals: ['ID'],
    prepare(args) {
      const id = idOf(args);
      const reason = reasonOf(args);
      return async (database) => {
        await revokeKey(database, id, { reason, ...operator(args) });
        say(`Key ${id} is revoked.`);
      };
    },
  },
  limit: {
    usage: 'limit ID N',
    help: 'Gives an approved key another limit, in requests a minute.',
    options: {},
    positionals: ['ID', 'N'],
    prepare(args) {
      const id = idOf(args);
      const limit = parseLimit('N', args.positionals[1] ?? '');
      return async (database) => {
        await changeLimit(database, id, { limit, ...operator(args) });
        say(`Key ${id} has ${limit} requests a minute now.`);
      };
    },
  },
};

function operator({ publicUrl }: Arguments) {
  return { by: null, at: new Date(), publicUrl };
}

function idOf({ positionals: [text = ''] }: Arguments): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new ConfigurationError(
    `The id of a key is a number, as "list" shows it, not ${JSON.stringify(text)}.`,
  );
}

function limitOf({ options: { limit } }: Arguments): number | undefined {
  return limit === undefined ? undefined : parseLimit('--limit', String(limit));
}

function parseLimit(name: string, text: string): number {
  const limit = /^[1-9]\d{0,8}$/.test(text) ? Number(text) : 0;
  if (limit >= 1 && limit <= LARGEST_LIMIT) return limit;
  throw new ConfigurationError(
    `${name} must be a whole number from 1 to ${LARGEST_LIMIT}, not ${JSON.stringify(text)}.`,
  );
}

function reasonOf({ options: { reason } }: Arguments): string {
  if (typeof reason === 'string' && reason.trim() !== '') return reason;
  throw new ConfigurationError('--reason is missing: the owner of the key is told it.');
}

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}
