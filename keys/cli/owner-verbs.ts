/** The verbs with which an operator acts for an owner: request, reveal and rotate a key. */
import { requestKey, revealKey, rotateKey } from '../lifecycle/own-keys.ts';
import { idOf, makeVerb, parseAccountId, requireText, type Verb } from './arguments.ts';

export const OWNER_VERBS: Readonly<Record<string, Verb>> = {
  request: makeVerb({
    usage: 'request --account ID --purpose TEXT --url ADDRESS',
    help: 'Requests a key for an account; "approve" grants it. ADDRESS is the website of the project.',
    options: {
      account: { type: 'string' },
      purpose: { type: 'string' },
      url: { type: 'string' },
    },
    positionals: [],
    prepare({ options }) {
      const why = 'moderators need it to decide';
      const accountId = parseAccountId(
        requireText('--account', options.account, 'a request belongs to an account'),
      );
      const purpose = requireText('--purpose', options.purpose, why);
      const websiteUrl = requireText('--url', options.url, why);
      return async (database) => {
        const request = { accountId, purpose, websiteUrl, at: new Date(), by: null };
        const { id } = await requestKey(database, request);
        return { message: `Request ${id} is waiting for review.` };
      };
    },
  }),
  reveal: makeVerb({
    usage: 'reveal ID',
    help: 'Creates the key of an approved request and prints it once. Its owner cannot reveal it any more.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals }) {
      const id = idOf(positionals);
      return async (database) => {
        const { key } = await revealKey(database, { id, accountId: 'operator', at: new Date() });
        return {
          message: `Key ${id} is shown only once:`,
          data: `${key}\n`,
        };
      };
    },
  }),
  rotate: makeVerb({
    usage: 'rotate ID',
    help: 'Replaces a revealed key by a new one and prints it once. The old key stops working.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals }) {
      const id = idOf(positionals);
      return async (database) => {
        const { key } = await rotateKey(database, { id, accountId: 'operator', at: new Date() });
        return {
          message: `Key ${id} is rotated; the old one stops working. The new one is shown only once:`,
          data: `${key}\n`,
        };
      };
    },
  }),
};
