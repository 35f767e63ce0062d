/** The verbs by which an operator does for an owner what the owner could do on the account page. */

import { requestKey, revealKey, rotateKey } from '../lifecycle/own-keys.ts';
import { idOf, parseAccountId, textOf, type Verb } from './arguments.ts';

export const OWNER_VERBS: Readonly<Record<string, Verb>> = {
  request: {
    usage: 'request --account ID --purpose TEXT --url ADDRESS',
    help: 'Asks for a key for an account; "approve" grants it. ADDRESS is the website of the project.',
    options: {
      account: { type: 'string' },
      purpose: { type: 'string' },
      url: { type: 'string' },
    },
    positionals: [],
    prepare(args) {
      const account = textOf(args, 'account', 'a request belongs to an account');
      const accountId = parseAccountId(account);
      const purpose = textOf(args, 'purpose', 'moderators decide by it');
      const websiteUrl = textOf(args, 'url', 'moderators decide by it');
      return async (database) => {
        const request = { accountId, purpose, websiteUrl, at: new Date(), by: null };
        const { id } = await requestKey(database, request);
        return { said: `Request ${id} waits for review.` };
      };
    },
  },
  reveal: {
    usage: 'reveal ID',
    help: 'Makes the key of an approved request and prints it, once, in place of its owner.',
    options: {},
    positionals: ['ID'],
    prepare(args) {
      const id = idOf(args);
      return async (database) => {
        const { key } = await revealKey(database, { id, accountId: 'operator', at: new Date() });
        return {
          said: `Key ${id} is shown this once:`,
          data: `${key}\n`,
        };
      };
    },
  },
  rotate: {
    usage: 'rotate ID',
    help: 'Puts a new key in the place of a revealed one, which stops working, and prints it, once.',
    options: {},
    positionals: ['ID'],
    prepare(args) {
      const id = idOf(args);
      return async (database) => {
        const { key } = await rotateKey(database, { id, accountId: 'operator', at: new Date() });
        return {
          said: `Key ${id} is rotated; the old one stops working. The new one is shown this once:`,
          data: `${key}\n`,
        };
      };
    },
  },
};
