/** The verbs that decide: what moderators do on their page, and `issue`. */
import type { ParseArgsOptionsConfig } from 'node:util';
import {
  approveRequest,
  changeLimit,
  issueKey,
  rejectRequest,
  revokeKey,
} from '../lifecycle/requests.ts';
import {
  type Arguments,
  idOf,
  limitOf,
  operator,
  parseLimit,
  textOf,
  type Verb,
} from './arguments.ts';

const LIMIT: ParseArgsOptionsConfig = { limit: { type: 'string' } };
const REASON: ParseArgsOptionsConfig = { reason: { type: 'string' } };

const reasonOf = (args: Arguments) => textOf(args, 'reason', 'the owner of the key is told it');

export const REVIEW_VERBS: Readonly<Record<string, Verb>> = {
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
        return {
          said: `Key ${id} is issued with ${limit} requests a minute. It is shown this once:`,
          data: `${key}\n`,
        };
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
        return {
          said: `Key ${id} is approved with ${limit} requests a minute; its owner can reveal it now.`,
        };
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
        return { said: `Key ${id} is rejected.` };
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
        return { said: `Key ${id} is revoked.` };
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
        return { said: `Key ${id} has ${limit} requests a minute now.` };
      };
    },
  },
};
