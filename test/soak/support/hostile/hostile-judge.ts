/**
 * Decides which responses are allowed to a sequence of bytes on a connection. It implements HTTP and
 * the contract independently of the proxy. It says which request may get a 200 and with which body;
 * every other request must be refused.
 */

/** The whole catalogue, read with plain requests beforehand. */
export interface Known {
  readonly key: string;
  readonly snapshot: string;
  /** Exact bodies by path, without the base. */
  readonly bodies: ReadonlyMap<string, string>;
  /** The games of each platform in order, and of all platforms, as JSON. */
  readonly games: ReadonlyMap<string, readonly string[]>;
  readonly pages: ReadonlySet<string>;
}

/** The allowed response to one request of a connection. */
export interface Verdict {
  readonly method: string;
  /** Why the body of a 200 is wrong; undefined if it is right. Absent if a 200 is not allowed. */
  readonly faultOf?: (text: string) => string | undefined;
}

// RFC 9112, section 3 allows several spaces between the parts.
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~\w]+) +(\S+) +HTTP\/(\d\.\d+)$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: a field must not contain them
const FIELD = /^([!#$%&'*+\-.^_`|~\w]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)$/;
const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc'];

/**
 * The verdicts on the requests in the bytes, in order. After a malformed request, or one that ends
 * the connection, no further 200 is allowed.
 * @param isLenient whether to parse like nginx: bare line feeds end lines, spaces and carriage
 *   returns before them are ignored, and malformed fields are dropped
 */
export function judge(bytes: string, known: Known, isLenient: boolean): Verdict[] {
  const verdicts: Verdict[] = [];
  let rest = bytes;
  for (;;) {
    // RFC 9112, section 2.2: empty lines before a request line are ignored.
    rest = rest.replace(isLenient ? /^[\r\n]+/ : /^(?:\r?\n)+/, '');
    const head = (isLenient ? /^.*?\n\r?\n/s : /^.*?\r\n\r\n/s).exec(rest)?.[0];
    if (head === undefined) return verdicts;
    rest = rest.slice(head.length);
    const lines = isLenient ? head.split(/ *\r*\n/).slice(0, -2) : head.split('\r\n').slice(0, -2);
    const [, method = '', target = '', version = ''] = REQUEST_LINE.exec(lines[0] ?? '') ?? [];
    const fields: (readonly [string, string])[] = [];
    let isBroken = method === '';
    for (const line of lines.slice(1)) {
      const [, name, value = ''] = FIELD.exec(line) ?? [];
      if (name !== undefined) fields.push([name.toLowerCase(), value.trim()]);
      else if (!isLenient) isBroken = true;
    }
    const all = (name: string) => fields.filter((field) => field[0] === name).map(([, v]) => v);
    const hosts = all('host').length;
    const isOld = /^1\.0+$/.test(version);
    // nginx continues after a head that it could not parse; the proxy closes the connection.
    if (isLenient && isBroken) {
      verdicts.push({ method });
      continue;
    }
    const isRefused =
      isBroken ||
      // nginx treats every HTTP/1.x as 1.1 (RFC 9110, section 2.5), with up to three digits.
      !(isLenient ? /^1\.\d{1,3}$/ : /^1\.[01]$/).test(version) ||
      hosts > 1 ||
      (hosts === 0 && !isOld) ||
      all('transfer-encoding').length > 0 ||
      all('content-length').some((value) => !/^0+$/.test(value));
    if (isRefused) {
      verdicts.push({ method });
      return verdicts;
    }
    const faultOf = ['GET', 'HEAD'].includes(method) ? judgeTarget(target, all, known) : undefined;
    verdicts.push(faultOf === undefined ? { method } : { method, faultOf });
    const hasOption = (token: RegExp) => all('connection').some((value) => token.test(value));
    const isLast = hasOption(/\bclose\b/i) || (isOld && !(isLenient && hasOption(/keep-alive/i)));
    if (isLast) return verdicts;
  }
}

function judgeTarget(
  target: string,
  all: (name: string) => string[],
  known: Known,
): Verdict['faultOf'] | undefined {
  const local = target.replace(/^https?:\/\/[^/?#]*/i, '');
  const [path = '', ...queries] = local.split('?');
  if (known.pages.has(path)) return () => undefined;
  if (!path.startsWith('/api/v1/')) return undefined;
  if (!hasKey(all, known.key)) return undefined;
  const snapshots = all('x-snapshot');
  if (snapshots.length > 1 || !['', known.snapshot].includes(snapshots[0] ?? '')) return undefined;
  return judgeResource(path.slice('/api/v1'.length), queries.join('?'), known);
}

function hasKey(all: (name: string) => string[], key: string): boolean {
  const authorizations = all('authorization');
  const apiKeys = all('x-api-key');
  if (authorizations.length > 1 || apiKeys.length > 1) return false;
  const [, token] = /^bearer(?:[ \t]+(.*))?$/i.exec(authorizations[0] ?? 'none') ?? ['', undefined];
  const isBearer = /^bearer(?:[ \t]|$)/i.test(authorizations[0] ?? '');
  if (isBearer && apiKeys.length > 0) return false;
  return (isBearer ? token : apiKeys[0]) === key;
}

function judgeResource(path: string, query: string, known: Known): Verdict['faultOf'] | undefined {
  let decoded: string;
  try {
    const segments = path.split('/').map(decodeURIComponent);
    // An encoded slash would be part of a name, and no name contains one.
    if (segments.some((segment) => segment.includes('/'))) return undefined;
    decoded = segments.join('/');
  } catch {
    return undefined;
  }
  const games = known.games.get(decoded);
  const body = known.bodies.get(decoded);
  if (games === undefined && body === undefined) return undefined;
  if (games === undefined) {
    return (text) => (text === body ? undefined : 'another body');
  }
  const values = readQuery(query, decoded === '/search');
  if (values === undefined) return undefined;
  const page = Number(values.get('page') ?? '1');
  const perPage = Number(values.get('per_page') ?? '50');
  const isFiltered = ['q', 'platform', 'region', 'type', 'genre', 'sort'].some((name) =>
    values.has(name),
  );
  return (text) => {
    const found = JSON.parse(text);
    if (found.page !== page || found.per_page !== perPage) return 'another page';
    const total: number = found.total;
    const expected = Math.max(0, Math.min(perPage, total - (page - 1) * perPage));
    if (found.data.length !== expected) return `${found.data.length} instead of ${expected}`;
    if (found.total_pages !== Math.ceil(total / perPage)) return 'another count of pages';
    const records = found.data.map((game: unknown) => JSON.stringify(game));
    if (isFiltered && decoded === '/search') {
      return records.every((game: string) => games.includes(game)) ? undefined : 'no such game';
    }
    const wanted = games.slice((page - 1) * perPage, (page - 1) * perPage + perPage);
    return records.join() === wanted.join() && total === games.length ? undefined : 'other games';
  };
}

/** The known parameters; undefined if they must be refused. */
function readQuery(query: string, isSearch: boolean): Map<string, string> | undefined {
  const names = ['page', 'per_page'];
  if (isSearch) names.push('q', 'sort', 'platform', 'region', 'type', 'genre');
  const given = [...new URLSearchParams(query)].filter(([name]) => names.includes(name));
  if (new Set(given.map(([name]) => name)).size < given.length) return undefined;
  if (given.some(([, value]) => value.includes('\ufffd'))) return undefined;
  const values = new Map(given.filter(([, value]) => value !== ''));
  const isInteger = (name: string, largest: number) => {
    const value = values.get(name) ?? '1';
    return /^[1-9][0-9]*$/.test(value) && BigInt(value) <= BigInt(largest);
  };
  if (!isInteger('page', Number.MAX_SAFE_INTEGER) || !isInteger('per_page', 100)) return undefined;
  if (!SORTS.includes(values.get('sort') ?? 'title_asc')) return undefined;
  if ([...(values.get('q') ?? '').trim()].length > 100) return undefined;
  return values;
}
