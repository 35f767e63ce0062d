/**
 * Keys cannot be guessed quickly. Only few guesses of an address are looked up, even if the client claims
 * other addresses, both directly and through the real nginx. Keys in use behind the same address still
 * work.
 */
import { Pool } from 'undici';
import { afterAll, beforeAll, test } from 'vitest';
import { makeRandom, type Random } from '../../../demo/catalogue/random.ts';
import { makeKey } from '../../../format/api-key.ts';
import { makeSampleSnapshots } from '../../catalogue/snapshots.ts';
import { send, startProxyProgram, testKey } from '../../support/product.ts';
import { SERVER_NAME, startNginx } from '../../support/servers/nginx.ts';
import { IS_FULL, printFigure } from '../rounds.ts';

const PROMISE = 'Guessing is slow';
/** How many guesses are looked up in any minute. */
const LIMIT = 60;
const WINDOW_MS = 60_000;
const GUESSING_MS = IS_FULL ? 75_000 : 2_000;
const GUESSERS = 8;
/** Without pauses the test would only measure how fast the proxy can refuse. */
const PAUSE_MS = 4;
/** The delay between the proxy's clock reading and the client's. */
const LATENESS_MS = 1_000;

const inUse = testKey(1);
const unused = testKey(2);
const revoked = testKey(3, { state: 'revoked' });
let snapshotsDir: string;

beforeAll(async () => {
  snapshotsDir = await makeSampleSnapshots([inUse, unused, revoked]);
});

const closing: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of closing.reverse()) await close();
});

interface Access {
  readonly pool: Pool;
  readonly adminUrl: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function openAccess(trusted: string, isFront: boolean): Promise<Access> {
  const proxy = await startProxyProgram(snapshotsDir, { TRUSTED_PROXIES: trusted });
  const nginx = isFront ? await startNginx(proxy.port) : undefined;
  if (nginx !== undefined) closing.push(() => nginx.stop());
  const pool =
    nginx === undefined
      ? new Pool(proxy.url, { connections: GUESSERS + 1 })
      : new Pool(`https://127.0.0.1:${nginx.httpsPort}`, {
          connections: GUESSERS + 1,
          connect: { ca: nginx.ca, servername: SERVER_NAME },
        });
  closing.push(() => pool.close());
  return { pool, adminUrl: proxy.adminUrl, headers: { host: SERVER_NAME } };
}

/** The header fields of a guess, well-formed or not, often with a false address. */
function makeGuess(random: Random): Record<string, string> {
  const guess = random.pick([
    () => makeKey(),
    () => makeKey(),
    () => revoked.key,
    () => `${inUse.key.slice(0, -1)}~`,
    () => 'cck_',
  ])();
  const forged = `${1 + random.below(200)}.${random.below(256)}.${random.below(256)}.9`;
  const lie = random.pick<Record<string, string>>([
    {},
    { 'x-forwarded-for': forged },
    { 'x-forwarded-for': `${forged}, 127.0.0.1` },
    { 'x-forwarded-for': `${forged}, ${forged}, x` },
    { 'x-forwarded-for': `2001:db8:${random.below(9999)}::1` },
    { forwarded: `for=${forged}`, 'x-real-ip': forged, 'client-ip': forged },
  ]);
  const field: Record<string, string> = random.happens(0.5)
    ? { 'x-api-key': guess }
    : { authorization: `Bearer ${guess}` };
  return random.happens(0.1) ? lie : { ...field, ...lie };
}

test.concurrent.for([
  ['directly, without trusted proxies', '', false],
  ['directly, with other addresses as trusted proxies', '127.0.0.77, 10.0.0.0/8', false],
  ['through nginx', '127.0.0.1', true],
] as const)(
  `at most ${LIMIT} guesses per minute are looked up %s`,
  // A concurrent test needs its own `expect`, or vitest does not count its assertions.
  async ([name, trusted, isFront], { expect }) => {
    const { pool, adminUrl, headers } = await openAccess(trusted, isFront);
    const request = async (extra: Record<string, string>) => {
      const reply = await pool.request({
        method: 'GET',
        path: '/api/v1/stats',
        headers: { ...headers, ...extra },
      });
      const retry = Number(reply.headers['retry-after'] ?? 0);
      return { status: reply.statusCode, retry, text: await reply.body.text() };
    };
    const useKey = async () => (await request({ 'x-api-key': inUse.key })).status;
    expect(await useKey()).toBe(200);

    const started = performance.now();
    const isOver = () => performance.now() - started > GUESSING_MS;
    /** The guesses that were looked up, with the times of request and response. */
    const lookedUp: { readonly sentAt: number; readonly answered: number }[] = [];
    let refused = 0;
    let used = 0;
    const guesser = async (number: number) => {
      const random = makeRandom(number);
      while (!isOver()) {
        const sentAt = performance.now();
        const { status, retry, text } = await request(makeGuess(random));
        if (status === 401) lookedUp.push({ sentAt, answered: performance.now() });
        else {
          expect([status, text]).toEqual([429, '{"error":"Rate limit exceeded"}']);
          expect(retry).toBeGreaterThanOrEqual(1);
          refused++;
        }
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    };
    const user = async () => {
      for (; !isOver(); used++) {
        expect(await useKey()).toBe(200);
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
      }
    };
    await Promise.all([user(), ...Array.from({ length: GUESSERS }, (_, i) => guesser(i + 1))]);

    // A guess certainly falls into a minute if it was sent and answered within it.
    const times = lookedUp.toSorted((a, b) => a.answered - b.answered);
    for (const [index, { answered }] of times.entries()) {
      const inMinute = times
        .slice(index)
        .filter(({ sentAt, answered: end }) => sentAt >= answered && end < answered + WINDOW_MS);
      expect(inMinute.length).toBeLessThanOrEqual(LIMIT);
    }
    const most = LIMIT * Math.ceil((GUESSING_MS + LATENESS_MS) / WINDOW_MS);
    expect(times.length).toBeGreaterThanOrEqual(LIMIT);
    expect(times.length).toBeLessThanOrEqual(most);
    expect(refused).toBeGreaterThan(LIMIT);
    expect(used).toBeGreaterThan(10);
    // Above the limit, a valid key that is not in use is not looked up either.
    expect((await request({ 'x-api-key': unused.key })).status).toBe(429);
    expect(await useKey()).toBe(200);
    const counted = (await send(`${adminUrl}/metrics`)).text;
    expect(counted).toContain(`api_requests_total{route="none",status="401"} ${times.length}`);
    printFigure(
      PROMISE,
      `${name}: of ${times.length + refused} guesses in ${Math.round(GUESSING_MS / 1000)} s ${times.length} looked up, ${refused} refused; ${used} requests with a key in use at the same time, all answered`,
    );
  },
);
