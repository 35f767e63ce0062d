/** The verbs for the accounts of an installation without a site. */
import { addAccount, ROLES, removeAccount } from '../lifecycle/accounts.ts';
import { type Account, listAccounts } from '../tables/accounts.ts';
import { makeVerb, parseChoice, parseId, requireText, type Verb } from './arguments.ts';
import { asJson, asTable, type Column } from './text-tables.ts';

const COLUMNS: readonly Column<Account>[] = [
  ['ID', ({ id }) => id],
  ['ROLE', ({ role }) => role],
  ['EMAIL', ({ email }) => email],
  ['NAME', ({ name }) => name],
];

export const ACCOUNT_VERBS: Readonly<Record<string, Verb>> = {
  'account list': makeVerb({
    usage: 'account list [--json]',
    help: 'Lists the accounts.',
    options: { json: { type: 'boolean' } },
    positionals: [],
    prepare:
      ({ options: { json } }) =>
      async (database) => {
        const accounts = await listAccounts(database);
        return { data: json ? asJson(accounts) : asTable(COLUMNS, accounts) };
      },
  }),
  'account add': makeVerb({
    usage: 'account add EMAIL --name NAME [--role ROLE]',
    help: `Adds an account and prints its id. If the address has an account already, changes its name and, with --role, its role. ROLE is ${ROLES.join(' or ')}; moderators review requests. Only for an installation without a site: if "accounts" is a view of your site's accounts, this and "account remove" are refused.`,
    options: { name: { type: 'string' }, role: { type: 'string' } },
    positionals: ['EMAIL'],
    prepare({ positionals: [email], options }) {
      const why = 'e-mails and pages address the account by its name';
      const name = requireText('--name', options.name, why);
      const given =
        options.role === undefined ? undefined : parseChoice('--role', options.role, ROLES);
      return async (database) => {
        const { id, role, isNew } = await addAccount(database, { email, name, role: given });
        return {
          message: `Account ${id} is ${isNew ? 'added' : 'changed'}, with the role ${role}.`,
          data: `${id}\n`,
        };
      };
    },
  }),
  'account remove': makeVerb({
    usage: 'account remove ID',
    help: 'Removes an account without pending requests and without approved keys. Its old keys and their history stay.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals: [text] }) {
      const id = parseId(text, 'The id of an account is a number, as "account list" shows it');
      return async (database) => {
        await removeAccount(database, id);
        return { message: `Account ${id} is removed.` };
      };
    },
  }),
};
