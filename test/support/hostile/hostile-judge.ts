/**
 * What a sequence of bytes on a connection may be answered with: a reading of HTTP and of the
 * contract of its own, which shares nothing with the proxy's. It says where a 200 may stand and
 * what it then has to hold; anything else must be a refusal.
 */

/** The whole catalogue as it is served, read with plain requests before. */
export interface Known {
  readonly key: string;
  readonly snapshot: string;
  /** Exact bodies by path, without the base. */
  readonly bodies: ReadonlyMap<string, string>;
  /** The games of each platform in order, and of all platforms, as JSON. */
  readonly games: ReadonlyMap<string, readonly string[]>;
  readonly pages: ReadonlySet<string>;
}

/** What one request of a connection may be answered with. */
export interface Verdict {
  readonly method: string;
  /** Why the text of a 200 is wrong; undefined when it is right. Absent: a 200 is wrong in itself. */
  readonly faultOf?: (text: string) => string | undefined;
}

// RFC 9112, section 3: several spaces may separate as one does.
const REQUEST_LINE = /^([!#$%&'*+\-.^_`|~\w]+) +(\S+) +HTTP\/(\d\.\d+)$/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: what a field must not hold
const FIELD = /^([!#$%&'*+\-.^_`|~\w]+):[ \t]*([^\x00-\x08\x0a-\x1f\x7f]*)$/;
const SORTS = ['title_asc', 'title_desc', 'year_asc', 'year_desc'];

/**
 * The verdicts on the requests that bytes hold, in order. After what is no request, or one that
 * ends the connection, nothing more may be answered with 200.
 * @param isLenient as nginx reads: bare line feeds end lines, spaces and returns before them say
 *   nothing, what is no field is dropped
 */
export function judge(bytes: string, known: Known, isLenient: boolean): Verdict[] {
  const verdicts: Verdict[] = [];
  let rest = bytes;
  for (;;) {
    // RFC 9112, section 2.2: empty lines before a request line are passed over.
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
    // nginx goes on behind a head that it could not read; the proxy closes.
    if (isLenient && isBroken) {
      verdicts.push({ method });
      continue;
    }
    const isRefused =
      isBroken ||
      // nginx takes every HTTP/1 for 1.1, as RFC 9110, section 2.5, has it, in up to three digits.
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
    const says = (token: RegExp) => all('connection').some((value) => token.test(value));
    const isLast = says(/\bclose\b/i) || (isOld && !(isLenient && says(/keep-alive/i)));
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
    // An encoded slash is part of a name, and no name has one.
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

/** The parameters that count; undefined where they have to be refused. */
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
