/** The paths of the account pages: their routes, links and forms, and the links in e-mails. */

export const PATHS = {
  account: '/account',
  signIn: '/account/sign-in',
  link: '/account/sign-in/link',
  signOut: '/account/sign-out',
  keys: '/account/api-keys',
  moderation: '/moderation',
  review: '/moderation/api-keys',
} as const;

/** The prefix of the paths of files that pages load: those that all pages share, and `keys/account/files`. */
export const FILES_PATH = '/account';

/** The pattern for the id of a key in the path of a route. */
export const ANY_KEY = ':id{[0-9]+}';
type KeyId = number | typeof ANY_KEY;

export type OwnAction = 'withdraw' | 'rename' | 'reveal' | 'rotate' | 'end-old' | 'revoke';

/** The path to which an owner's form for a key is sent. */
export function ownKeyPath(id: KeyId, action: OwnAction): string {
  return `${PATHS.keys}/${id}/${action}`;
}

/** The page to sign in, for a visitor who then comes back to an address of these pages. */
export function signInPath(returnTo: string): string {
  if (returnTo === PATHS.keys) return PATHS.signIn;
  return `${PATHS.signIn}?return=${encodeURIComponent(returnTo)}`;
}

/** @returns the address that {@link signInPath} was made for, if it is one of these pages; else that of the keys */
export function returnPath(returnTo = ''): string {
  return /^\/(?:account|moderation)\/[\w/?=&-]*$/.test(returnTo) ? returnTo : PATHS.keys;
}

/** The page of one key for moderators. */
export function reviewPath(id: KeyId): string {
  return `${PATHS.review}/${id}`;
}

export type ReviewAction = 'approve' | 'reject' | 'revoke' | 'limit';

/** The path to which a moderator's form for a key is sent. */
export function reviewActionPath(id: KeyId, action: ReviewAction): string {
  return `${reviewPath(id)}/${action}`;
}
