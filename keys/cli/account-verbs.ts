/** The verbs for accounts: list, add and remove accounts, set roles, and create a sign-in link. */
import { ConfigurationError } from '../../program/environment/environment.ts';
import { addAccount, changeRole, ROLES, removeAccount } from '../lifecycle/account-changes.ts';
import { Refusal } from '../lifecycle/refusal.ts';
import { createSignInLink } from '../lifecycle/sign-in.ts';
import { PATHS } from '../paths.ts';
import { type Account, hasAccounts, listAccounts } from '../tables/accounts.ts';
import { LINK_MINUTES } from '../tables/sign-in-links.ts';
import { makeVerb, parseAccountId, requireText, type Verb } from './arguments.ts';
import { accountsAsTable, asJson } from './text-tables.ts';

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
        return { data: json ? asJson(accounts) : accountsAsTable(accounts) };
      },
  }),
  'account add': makeVerb({
    usage: 'account add EMAIL --name NAME [--role ROLE]',
    help: `Adds an account and prints its id. ROLE is ${ROLES.join(' or ')}. Only for an installation without a site: if "accounts" is a view of your site's accounts, this and the two verbs below are refused.`,
    options: { name: { type: 'string' }, role: { type: 'string' } },
    positionals: ['EMAIL'],
    prepare({ positionals: [email], options }) {
      const name = requireText(
        '--name',
        options.name,
        'e-mails and pages address the account by its name',
      );
      const role = parseRole('--role', options.role ?? 'user');
      return async (database) => {
        const { id } = await addAccount(database, { email, name, role });
        return {
          message: `Account ${id} is added, with the role ${role}.`,
          data: `${id}\n`,
        };
      };
    },
  }),
  'account role': makeVerb({
    usage: 'account role ID ROLE',
    help: `Gives an account a role: ${ROLES.join(' or ')}. Moderators review requests.`,
    options: {},
    positionals: ['ID', 'ROLE'],
    prepare({ positionals: [account, text] }) {
      const id = parseAccountId(account);
      const role = parseRole('ROLE', text);
      return async (database) => {
        await changeRole(database, id, role);
        return { message: `Account ${id} has the role ${role} now.` };
      };
    },
  }),
  'account remove': makeVerb({
    usage: 'account remove ID',
    help: 'Removes an account without pending requests and without approved keys. Its old keys and their history stay.',
    options: {},
    positionals: ['ID'],
    prepare({ positionals: [account] }) {
      const id = parseAccountId(account);
      return async (database) => {
        await removeAccount(database, id);
        return { message: `Account ${id} is removed.` };
      };
    },
  }),
  'account sign-in': makeVerb({
    usage: 'account sign-in EMAIL',
    help: `Prints a sign-in link for an account, which works once, within ${LINK_MINUTES} minutes. Anybody who has the link can sign in as that account.`,
    options: {},
    positionals: ['EMAIL'],
    prepare({ positionals: [email], publicUrl }) {
      return async (database) => {
        const isKnown = await hasAccounts(database);
        const token = isKnown ? await createSignInLink(database, email, new Date()) : undefined;
        if (token === undefined) {
          throw new Refusal(
            `No account, or more than one, has the address ${JSON.stringify(email)}; "account list" lists them all.`,
            'missing',
          );
        }
        return {
          message: `This link signs ${email} in once, within ${LINK_MINUTES} minutes:`,
          data: `${publicUrl}${PATHS.link}?token=${token}\n`,
        };
      };
    },
  }),
};

function parseRole(name: string, text: string): Account['role'] {
  const role = ROLES.find((known) => known === text);
  if (role !== undefined) return role;
  throw new ConfigurationError(
    `${name} must be ${ROLES.join(' or ')}, not ${JSON.stringify(text)}.`,
  );
}
