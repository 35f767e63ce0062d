/**
 * Whether the addresses in records lead to the site and to its images. The page of a platform, that of a game, and
 * an image are requested, within seconds, and only the heads of the responses are read, which Node bounds. What is
 * wrong is a warning: this machine may not be able to reach what everybody else can.
 */
import { messageOf } from '../../../lib/program/failure.ts';
import {
  type Check,
  type Findings,
  requireValue,
  type SampledAddresses,
  SkippedError,
} from '../check.ts';
import { PLACEHOLDER } from './configuration.ts';

/** Three take less than the limit of a check. */
const LIMIT_MS = 3_000;
const MOST_REDIRECTS = 5;
/** The variables that make the addresses of pages. */
const OF_PLATFORMS = 'SITE_URL, SITE_LANGUAGE or PLATFORM_URL';
const OF_GAMES = 'SITE_URL, SITE_LANGUAGE or GAME_URL';
/** The pages of clients may be anywhere. */
const ORIGIN = 'https://client.example';

export const addresses: Check = {
  name: 'site and images',
  programs: ['schedule'],
  fix: 'Try the address of a page and of an image of your site: curl -I ADDRESS',
  async run(context, findings) {
    const isSet = (name: 'SITE_URL' | 'FILES_URL') =>
      (context.variables[name]?.trim() ?? '') !== '' &&
      !PLACEHOLDER.test(requireValue(context, name));
    const { platform, game, image } = context.addresses ?? {};
    const sampled = {
      platform: isSet('SITE_URL') ? platform : undefined,
      game: isSet('SITE_URL') ? game : undefined,
      image: isSet('FILES_URL') ? image : undefined,
    };
    if (Object.values(sampled).every((address) => address === undefined)) {
      const fix = 'Set SITE_URL and FILES_URL, and correct what the other checks report.';
      throw new SkippedError('The sample has no address of a page or an image on your site.', fix);
    }
    await tryAddresses(sampled, findings);
  },
};

/** @param limitMs how long the answers for one address may take */
export async function tryAddresses(
  { platform, game, image }: SampledAddresses,
  findings: Findings,
  limitMs = LIMIT_MS,
): Promise<void> {
  for (const [address, examine, variables] of [
    [platform, examinePage('a platform', OF_PLATFORMS), OF_PLATFORMS],
    [game, examinePage('a game', OF_GAMES), OF_GAMES],
    [image, examineImage, 'FILES_URL'],
  ] as const) {
    if (address === undefined) continue;
    try {
      examine(await answersOf(address, AbortSignal.timeout(limitMs)), findings);
    } catch (error) {
      const { name, cause } = error as Error;
      const why =
        name === 'TimeoutError' ? `nothing in ${limitMs / 1000} s` : messageOf(cause ?? error);
      findings.warn(
        `${address} does not answer: ${why}.`,
        `Try it in a browser. If it does not answer there either, correct ${variables}.`,
      );
    }
  }
}

/** The head of an answer. */
interface ResponseHead {
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
}

/** @returns the answers on the way: redirects, and the last one */
async function answersOf(address: string, signal: AbortSignal): Promise<ResponseHead[]> {
  const answers: ResponseHead[] = [];
  for (let url = address; answers.length <= MOST_REDIRECTS; ) {
    const { status, headers, body } = await fetch(url, {
      redirect: 'manual',
      headers: { origin: ORIGIN },
      signal,
    });
    await body?.cancel();
    answers.push({ url, status, headers });
    const location = headers.get('location');
    if (status < 300 || status >= 400 || location === null) return answers;
    url = new URL(location, url).href;
  }
  throw new Error(`there are more than ${MOST_REDIRECTS} redirects`);
}

/** @param variables make the address */
function examinePage(what: string, variables: string) {
  return (answers: readonly ResponseHead[], { ok, warn }: Findings): void => {
    const [{ url: address }, { url, status }] = [answers[0], answers.at(-1) as ResponseHead];
    const { origin } = new URL(url);
    if (status === 404 || status === 410 || status >= 500) {
      warn(
        `The page of ${what}, ${url}, answers with ${status}.`,
        `Correct ${variables}: all records link to such pages.`,
      );
    } else if (origin !== new URL(address).origin) {
      warn(
        `The page of ${what}, ${address}, leads to another site: ${url}.`,
        `If that is yours, set SITE_URL to its address, which begins with ${origin}. If not, correct ${variables}.`,
      );
    } else ok(`The page of ${what} answers: ${address}`);
  };
}

function examineImage(answers: readonly ResponseHead[], { ok, warn }: Findings): void {
  const [{ url: address }, { url, status, headers }] = [answers[0], answers.at(-1) as ResponseHead];
  const type = headers.get('content-type') ?? 'no Content-Type';
  if (status !== 200 || !/^(?:image\/|application\/octet-stream)/i.test(type)) {
    warn(
      `The address of an image, ${url}, answers with ${status} and ${type}.`,
      'Correct FILES_URL: the path of each file is appended to it.',
    );
    return;
  }
  const refusing = answers.find((answer) => !allowsAll(answer));
  if (refusing === undefined) ok(`An image answers, and every page may read it: ${address}`);
  else {
    warn(
      `An image, ${refusing.url}, answers without Access-Control-Allow-Origin: *, so that pages of your clients can show it, and not read it.`,
      'Let the server of the images send this header. In nginx: add_header Access-Control-Allow-Origin "*" always;',
    );
  }
}

function allowsAll({ headers }: ResponseHead): boolean {
  return ['*', ORIGIN].includes(headers.get('access-control-allow-origin')?.trim() ?? '');
}
