/** The verbs for the decisions that moderators make on their page, and the verb `issue`. */
import type { Database } from '../../database/database.ts';
import {
  approveRequest,
  changeLimit,
  changeQuota,
  issueKey,
  type Limits,
  type ReviewWithReason,
  rejectRequest,
  resumeKey,
  revokeKey,
  suspendKey,
} from '../lifecycle/reviews.ts';
import {
  idOf,
  makeVerb,
  operator,
  parseLimit,
  parseQuota,
  requireText,
  type Settings,
  type Verb,
} from './arguments.ts';

const LIMITS = { limit: { type: 'string' }, 'daily-quota': { type: 'string' } } as const;

/** The values of `--limit`, or else of DEFAULT_RATE_LIMIT, and of `--daily-quota`. */
function limitsOf(
  { limit, 'daily-quota': quota }: { limit?: string; 'daily-quota'?: string },
  { defaultLimit }: Settings,
): Required<Limits> {
  return {
    limit: limit === undefined ? defaultLimit : parseLimit('--limit', limit),
    dailyQuota: quota === undefined ? null : parseQuota('--daily-quota', quota),
  };
}

function wordsOf({ limit, dailyQuota }: Limits): string {
  return `${limit} requests a minute${dailyQuota === null ? '' : ` and ${dailyQuota} a day`}`;
}

/** Makes a verb that ends or suspends a request or a key, and tells its owner why. */
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
    usage: 'issue [--limit N] [--daily-quota N] [--note TEXT]',
    help: 'Creates an approved key without an account and prints it once. The limit is in requests per minute (default: DEFAULT_RATE_LIMIT), the quota in requests per UTC day at each proxy (default: none).',
    options: { ...LIMITS, note: { type: 'string' } },
    positionals: [],
    prepare({ options, ...settings }) {
      const limits = limitsOf(options, settings);
      const purpose = options.note ?? '';
      return async (database) => {
        const { id, key } = await issueKey(database, { ...limits, purpose, at: new Date() });
        return {
          message: `Key ${id} is issued with ${wordsOf(limits)}. It is shown only once:`,
          data: `${key}\n`,
        };
      };
    },
  }),
  approve: makeVerb({
    usage: 'approve ID [--limit N] [--daily-quota N]',
    help: 'Approves a pending request. For the limit and the quota, see "issue".',
    options: LIMITS,
    positionals: ['ID'],
    prepare({ positionals, options, ...settings }) {
      const id = idOf(positionals);
      const limits = limitsOf(options, settings);
      return async (database) => {
        await approveRequest(database, id, { ...limits, ...operator(settings) });
        return {
          message: `Key ${id} is approved with ${wordsOf(limits)}; its owner can reveal it now.`,
        };
      };
    },
  }),
  reject: makeVerbWithReason('reject', 'Rejects a pending request.', 'rejected', rejectRequest),
  suspend: makeVerbWithReason(
    'suspend',
    'Suspends an approved key until it is resumed.',
    'suspended',
    suspendKey,
  ),
  resume: makeVerb({
    usage: 'resume ID',
    help: 'Lets a suspended key work again. Its owner gets an e-mail.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals, ...settings }) {
      const id = idOf(positionals);
      return async (database) => {
        await resumeKey(database, id, operator(settings));
        return { message: `Key ${id} works again.` };
      };
    },
  }),
  revoke: makeVerbWithReason(
    'revoke',
    'Revokes an approved or suspended key permanently.',
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
  quota: makeVerb({
    usage: 'quota ID N',
    help: 'Changes the daily quota of an approved key, in requests per UTC day at each proxy; "none" removes it.',
    options: {},
    positionals: ['ID', 'N'],
    prepare({ positionals, ...settings }) {
      const id = idOf(positionals);
      const dailyQuota = positionals[1] === 'none' ? null : parseQuota('N', positionals[1]);
      return async (database) => {
        await changeQuota(database, id, { dailyQuota, ...operator(settings) });
        const words = dailyQuota === null ? 'no daily quota' : `${dailyQuota} requests a day`;
        return { message: `Key ${id} has ${words} now.` };
      };
    },
  }),
};
