/** The verbs with which an operator acts for an owner: request, name, reveal, rotate and withdraw. */
import { revealKey, rotateKey } from '../lifecycle/own-keys.ts';
import { renameKey, requestKey, withdrawRequest } from '../lifecycle/own-requests.ts';
import { idOf, makeVerb, parseAccountId, requireText, type Verb } from './arguments.ts';

/** An operator may act on the key of any account. */
const asOperator = (id: number) => ({ id, accountId: 'operator', at: new Date() }) as const;

export const OWNER_VERBS: Readonly<Record<string, Verb>> = {
  request: makeVerb({
    usage: 'request --account ID --purpose TEXT --url ADDRESS [--name NAME]',
    help: 'Requests a key for an account; "approve" grants it. ADDRESS is the website of the project.',
    options: {
      account: { type: 'string' },
      purpose: { type: 'string' },
      url: { type: 'string' },
      name: { type: 'string' },
    },
    positionals: [],
    prepare({ options }) {
      const why = 'moderators need it to decide';
      const accountId = parseAccountId(
        requireText('--account', options.account, 'a request belongs to an account'),
      );
      const purpose = requireText('--purpose', options.purpose, why);
      const websiteUrl = requireText('--url', options.url, why);
      const { name } = options;
      return async (database) => {
        const text = { purpose, websiteUrl, name };
        const { id } = await requestKey(database, { ...text, accountId, at: new Date(), by: null });
        return { message: `Request ${id} is waiting for review.` };
      };
    },
  }),
  withdraw: makeVerb({
    usage: 'withdraw ID',
    help: 'Withdraws a pending request, as its owner can.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals }) {
      const id = idOf(positionals);
      return async (database) => {
        await withdrawRequest(database, asOperator(id));
        return { message: `Request ${id} is withdrawn.` };
      };
    },
  }),
  rename: makeVerb({
    usage: 'rename ID NAME',
    help: 'Gives a key or a request the name that its owner sees; "" removes it.',
    options: {},
    positionals: ['ID', 'NAME'],
    prepare({ positionals }) {
      const id = idOf(positionals);
      const [, name = ''] = positionals;
      return async (database) => {
        await renameKey(database, { ...asOperator(id), name });
        return { message: `Key ${id} has its new name.` };
      };
    },
  }),
  reveal: makeVerb({
    usage: 'reveal ID',
    help: 'Creates the key of an approved request, and prints it once. Its owner can then no longer reveal it.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals }) {
      const id = idOf(positionals);
      return async (database) => {
        const { key } = await revealKey(database, asOperator(id));
        return {
          message: `Key ${id} is shown only once:`,
          data: `${key}\n`,
        };
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
        const { key } = await rotateKey(database, { ...asOperator(id), publicUrl });
        return {
          message: `Key ${id} is rotated; the old one stops working. The new one is shown only once:`,
          data: `${key}\n`,
        };
      };
    },
  }),
};
