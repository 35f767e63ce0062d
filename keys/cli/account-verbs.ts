/** The verbs for the accounts of an installation without a site. */
import { readValue } from '../../lib/program/arguments.ts';
import { oneOfWords } from '../../lib/program/environment/values.ts';
import { addAccount, ROLES, removeAccount } from '../lifecycle/accounts.ts';
import { type Account, listAccounts } from '../tables/accounts.ts';
import { parseAccountId } from '../tables/values.ts';
import { asText, type TextColumn } from './text-tables.ts';
import { parseId, requireText, type Verb } from './verb.ts';

const COLUMNS: readonly TextColumn<Account>[] = [
  ['ID', ({ id }) => id],
  ['ROLE', ({ role }) => role],
  ['EMAIL', ({ email }) => email],
  ['NAME', ({ name }) => name],
];

export const ACCOUNT_VERBS: readonly Verb[] = [
  {
    usage: 'account list [--json]',
    help: 'Lists the accounts.',
    prepare:
      ({ switches }) =>
      async (database) => ({ data: asText(switches, COLUMNS, await listAccounts(database)) }),
  },
  {
    usage: 'account add EMAIL --name NAME [--role ROLE]',
    help: `Adds an account and prints its id. If the address has an account already, changes its name and, with --role, its role. ROLE is ${ROLES.join(' or ')}; moderators review requests. Only for an installation without a site: if "accounts" is a view of your site's accounts, this and "account remove" are refused.`,
    prepare({ positionals: [email], texts }) {
      const why = 'e-mails and pages address the account by its name';
      const name = requireText('--name', texts.name, why);
      const given =
        texts.role === undefined
          ? texts.role
          : readValue('--role', texts.role, oneOfWords(...ROLES));
      return async (database) => {
        const account = { email, name, role: given };
        const { id, role, isNew } = await addAccount(database, account);
        return {
          message: `Account ${id} is ${isNew ? 'added' : 'changed'}, with the role ${role}.`,
          data: `${id}\n`,
        };
      };
    },
  },
  {
    usage: 'account remove ID',
    help: 'Removes an account without pending requests and without approved keys. Its old keys and their history stay.',
    prepare({ positionals: [text] }) {
      const id = parseId(
        text,
        parseAccountId,
        'The id of an account is a number, as "account list" shows it',
      );
      return async (database) => {
        await removeAccount(database, id);
        return { message: `Account ${id} is removed.` };
      };
    },
  },
];
