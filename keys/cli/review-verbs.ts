/** The verbs for the decisions that moderators make on their page, and the verb `issue`. */
import type { Database } from '../../database/database.ts';
import {
  approveRequest,
  changeLimit,
  issueKey,
  type ReviewWithReason,
  rejectRequest,
  revokeKey,
} from '../lifecycle/reviews.ts';
import {
  idOf,
  makeVerb,
  operator,
  parseLimit,
  requireText,
  type Settings,
  type Verb,
} from './arguments.ts';

const LIMIT = { limit: { type: 'string' } } as const;

/** The value of `--limit`, or else of DEFAULT_RATE_LIMIT. */
function limitOf({ limit }: { limit?: string }, { defaultLimit }: Settings): number {
  return limit === undefined ? defaultLimit : parseLimit('--limit', limit);
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
    prepare({ positionals, options, ...settings }) {
      const id = idOf(positionals);
      const reason = requireText(
        '--reason',
        options.reason,
        'the owner of the key gets it by e-mail',
      );
      return async (database) => {
        await end(database, id, { reason, ...operator(settings) });
        return { message: `Key ${id} is ${done}.` };
      };
    },
  });
}

export const REVIEW_VERBS: Readonly<Record<string, Verb>> = {
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
      const limit = parseLimit('N', positionals[1]);
      return async (database) => {
        await changeLimit(database, id, { limit, ...operator(settings) });
        return { message: `Key ${id} has ${limit} requests a minute now.` };
      };
    },
  }),
};
