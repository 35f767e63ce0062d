/**
 * Values as people type them in the environment, on a command line and in a database: numbers, words and
 * addresses. A parser throws an error that says what is allowed and continues a sentence that begins with the name
 * of the value: "must be a port …". No error shows a password.
 */

/** @param allowed describes the values that are right */
export function notAllowed(allowed: string, shown: string): Error {
  return new Error(`must be ${allowed}, not ${shown}.`);
}

/** @param what such as "a port" */
export function wholeNumber(least: number, most: number, what = 'a whole number') {
  return (text: string): number => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw notAllowed(`${what} from ${least} to ${most}`, JSON.stringify(text));
  };
}

/** "a, b or c" */
export function listText(names: readonly string[], word: 'and' | 'or'): string {
  return names.join(', ').replace(/, (?=[^,]+$)/, ` ${word} `);
}

export function oneOfWords<const Word extends string>(...words: Word[]) {
  return (text: string): Word => {
    const word = words.find((one) => one === text);
    if (word !== undefined) return word;
    throw notAllowed(`one of ${words.join(', ')}`, JSON.stringify(text));
  };
}

/** @returns the address without slashes at its end */
export function parseWebAddress(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  // `URL` reports no query for "https://example.org?", so the text is searched.
  const isPlain = !/[?#]/.test(text) && url?.username === '' && url.password === '';
  if (url !== undefined && isPlain && /^https?:$/.test(url.protocol) && hasPlainHost(url)) {
    return url.href.replace(/\/+$/, '');
  }
  throw notAllowed(
    'an http or https address without query or user, such as https://example.org',
    shownAddress(text),
  );
}

/** Whether a host has only the characters of names and IP addresses: `URL` accepts others, even quotes. */
export function hasPlainHost({ host }: URL): boolean {
  return /^[\w.:[\]-]+$/.test(host);
}

/**
 * An address as an error may show it, in quotes: without user and password, the values of a query and a
 * fragment, even if it is not well-formed.
 */
export function shownAddress(text: string): string {
  const withoutUser = text.replace(/^([A-Za-z][A-Za-z0-9+.-]*:)?.*@/s, '$1//…@');
  return JSON.stringify(withoutUser.replace(/#.+$/s, '#…').replace(/=[^&#]+/g, '=…'));
}

/**
 * Whether a text is an address and not the path of a file or folder: it begins with a scheme, which is
 * longer than the letter of a drive, or with a user and a password.
 */
export function isAddress(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]+:|^[^/]*:.*@/.test(text);
}
