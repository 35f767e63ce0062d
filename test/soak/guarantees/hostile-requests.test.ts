/**
 * Seeded hostile requests over raw sockets, directly and through the real nginx, over the fast
 * path and Node's parser, with the key in many wrong parts. They cause no 5xx, no crash, no wrong 200, bounded
 * memory, and no trace of the key in responses, logs and metrics.
 */
import type { Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeRandom } from '#demo/catalogue/random.ts';
import { makePages } from '#site/pages.ts';
import { makeSampleSnapshots } from '#test/catalogue/snapshots.ts';
import { IS_FULL, printFigure, rounds } from '#test/soak/rounds.ts';
import { type Hostile, makeHostile } from '#test/soak/support/hostile/hostile.ts';
import { judge, type Known } from '#test/soak/support/hostile/hostile-judge.ts';
import { exchange, type WireReply } from '#test/soak/support/hostile/hostile-wire.ts';
import { makeTraceFinder } from '#test/support/key-traces.ts';
import { FRAME } from '#test/support/pages.ts';
import { residentMegabytes } from '#test/support/processes.ts';
import { PARSERS, type ProxyProgram, startProxyProgram, testKey } from '#test/support/product.ts';
import { readBodies } from '#test/support/read-all.ts';
import {
  openTls,
  type RunningNginx,
  SERVER_NAME,
  startNginx,
} from '#test/support/servers/nginx.ts';
import { openSocket, sendRaw } from '#test/support/servers/sockets.ts';

const PROMISE = 'Hostile requests';
const REQUESTS = { directly: rounds(2_000, 100_000), 'through nginx': rounds(3_000, 20_000) };
/** Fewer than the 100 simultaneous requests that nginx allows an address. */
const CONNECTIONS = 48;
/**
 * Resident memory rises and falls by about 60 MB, as V8 collects its old generation every 45,000 requests. A
 * leak of a kilobyte a request would exceed this.
 */
const MOST_MEGABYTES = 300;

const key = testKey(1);
const traceIn = makeTraceFinder(key.key);

/** Whether a body is `{"error":"<text>"}`, with the name of a parameter at most. */
function isErrorBody(body: string): boolean {
  const [, text] =
    /^\{"error":("(?:[^"\\]|\\.)*")(?:,"parameter":"(?:[^"\\]|\\.){0,300}")?\}$/.exec(body) ?? [];
  if (text === undefined) return false;
  const { length } = JSON.parse(text) as string;
  return length >= 3 && length <= 300;
}

/** An error page without the sentence that says what is wrong, which is plain text. */
function withoutFault(page: string): string {
  return page.replace(/<p class="lead">[\w ,.'’/-]{3,300}<\/p>/, '');
}

describe.each(PARSERS)('over %s', (parser, fields) => {
  let proxy: ProxyProgram;
  let nginx: RunningNginx;
  let known: Known;
  let errorPages: string[];
  let targets: string[];

  beforeAll(async () => {
    const snapshotsDir = await makeSampleSnapshots([key]);
    proxy = await startProxyProgram(snapshotsDir, {
      ADDRESS_RATE_LIMIT: '1000000',
      TRUSTED_PROXIES: '127.0.0.1',
      LOG_LEVEL: 'debug',
    });
    nginx = await startNginx(proxy.port);
    ({ known, targets } = await readKnown());
    const pages = [readErrorPage('GET'), readErrorPage('DELETE'), readMalformedPage()];
    errorPages = (await Promise.all(pages)).map(withoutFault);
  });

  /** The page that browsers get for a path outside the base, which contains nothing of the request. */
  async function readErrorPage(method: string): Promise<string> {
    const headers = { accept: 'text/html' };
    const response = await fetch(`${proxy.url}/no-such-page`, { method, headers });
    expect(response.status).toBe(method === 'GET' ? 404 : 405);
    return response.text();
  }

  /** The page that browsers get for a malformed request: this one has no Host. */
  async function readMalformedPage(): Promise<string> {
    const bytes = await sendRaw(proxy.port, 'GET / HTTP/1.1\r\nAccept: text/html\r\n\r\n');
    const received = Buffer.from(bytes, 'latin1').toString();
    expect(received).toMatch(/^HTTP\/1\.1 400 /);
    return received.slice(received.indexOf('\r\n\r\n') + 4);
  }

  afterAll(() => nginx.stop());

  async function readKnown(): Promise<{ known: Known; targets: string[] }> {
    const { bodies, games } = await readBodies(proxy, key.key);
    const records = [...games].map(
      ([path, list]) => [path, list.map((game) => JSON.stringify(game))] as const,
    );
    const { 'x-snapshot': snapshot } = (await proxy.get('/stats', key.key)).headers;
    const site = { publicUrl: 'https://api.covers.example', defaultLimit: 120, frame: FRAME };
    const pages = new Set(makePages(site).keys());
    const paths = [...bodies.keys()].filter((target) => !target.includes('?'));
    return {
      known: { key: key.key, snapshot, bodies, games: new Map(records), pages },
      targets: [
        ...[...paths, ...games.keys()].map((path) => `/api/v1${path}`),
        // Repeated to be picked as often as all games together, because these accept parameters.
        ...Array.from({ length: 300 }, () => '/api/v1/search'),
        ...Array.from({ length: 100 }, () => '/api/v1/platforms/snes/games'),
        ...pages,
      ],
    };
  }

  /** Why the replies are wrong; undefined if they are right. */
  function faultOf(
    { bytes, isClean, isWhole }: Hostile,
    replies: readonly WireReply[],
    rest: string,
    isFront: boolean,
  ): string | undefined {
    // nginx answers HTTP/0.9, which has no response head. Without a key it must not contain data.
    const isOld =
      isFront && /^(?:\{"error"|<!doctype html>)/.test(rest) && !rest.includes('"data"');
    if (rest !== '' && !isOld) return 'bytes that are not a response';
    const verdicts = judge(bytes, known, isFront);
    for (const [index, { status, headers, body }] of replies.entries()) {
      if (status >= 500 || status < 200) return `status ${status}`;
      if (isClean && status !== 200) return `status ${status} to a valid request`;
      if (isWhole && status === 408) return 'a timeout';
      const isHead = body.length === 0 && bytes.includes('HEAD ');
      if (headers.has('x-injected')) return 'a header field that the client injected';
      // The links to other pages repeat the query.
      const shown = [...headers].filter(([name]) => name !== 'link');
      if (traceIn([...shown, body].join())) return 'the key';
      if (status >= 400) {
        const isPage = headers.get('content-type') === 'text/html; charset=utf-8';
        const isJson = headers.get('content-type') === 'application/json; charset=utf-8';
        const isError =
          isHead ||
          (isPage ? errorPages.includes(withoutFault(`${body}`)) : isErrorBody(`${body}`));
        if (!(isJson || (isPage && bytes.includes('text/html'))) || !isError)
          return `an error of another shape: ${body}`;
      }
      if (status !== 200) continue;
      const verdict = verdicts[index];
      if (verdict?.faultOf === undefined) return 'a 200 to a request that must be refused';
      if (isHead && verdict.method === 'HEAD') continue;
      const fault = verdict.faultOf(decode(body, headers.get('content-encoding')).toString());
      if (fault !== undefined) return `a wrong 200: ${fault}`;
    }
    return isClean && replies.length !== 1 ? `${replies.length} responses` : undefined;
  }

  function decode(body: Buffer, coding: string | undefined): Buffer {
    if (coding === 'gzip') return gunzipSync(body);
    return coding === 'br' ? brotliDecompressSync(body) : body;
  }

  /** Opens a connection. Once Node's parser has read a request, it reads the rest of the connection. */
  async function openDirectly(): Promise<Socket> {
    const socket = await openSocket(proxy.port);
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
    if (lines.length === 0) return socket;
    const first = `GET /api/v1/stats HTTP/1.1\r\nHost: x\r\n${lines.join('')}\r\n`;
    const { replies } = await exchange(socket, first, ['GET'], true);
    expect(replies.map(({ status }) => status)).toEqual([401]);
    return socket;
  }

  // nginx decides how it connects to the proxy, so one of the two is enough.
  const ways =
    parser === 'the fast path' ? (['directly', 'through nginx'] as const) : (['directly'] as const);
  describe.each(ways)('%s', (way) => {
    const isFront = way === 'through nginx';
    const requests = REQUESTS[way];
    const open = (): Promise<Socket> => (isFront ? openTls(nginx) : openDirectly());

    test(`${requests} hostile requests get only permitted responses, in bounded memory`, async () => {
      const parts = { key: key.key, host: SERVER_NAME, targets, snapshot: known.snapshot };
      const statuses = new Map<number | 'none', number>();
      let memory = 0;
      let sent = 0;
      const client = async () => {
        let kept: Socket | undefined;
        let earlier = '';
        while (sent < requests) {
          const seed = sent++;
          if (seed % 500 === 0) memory = Math.max(memory, residentMegabytes(proxy.child.pid));
          const random = makeRandom();
          random.start(isFront ? 2 : 1, 0, seed);
          const hostile = makeHostile(random, parts)();
          if (kept?.destroyed !== false || !hostile.isWhole) {
            kept?.destroy();
            kept = await open();
            kept.on('error', () => {});
            earlier = '';
          }
          // A malformed request that begins with HEAD may get a response without a body.
          const unclear = hostile.bytes.includes('HEAD ') ? 'HEAD' : '';
          const judged = judge(hostile.bytes, known, isFront).map(
            ({ method }) => method || unclear,
          );
          const methods = judged.length > 0 ? judged : [unclear];
          const { replies, rest, isClosed } = await exchange(
            kept,
            hostile.bytes,
            methods,
            hostile.isWhole,
          ).catch((cause: Error) => {
            const before = `after ${JSON.stringify(earlier)} on its connection`;
            throw new Error(`Request ${seed}, ${before}: ${cause.message}`, { cause });
          });
          const fault = faultOf(hostile, replies, rest, isFront);
          if (fault !== undefined) {
            const answers = replies
              .map(({ status, body }) => `${status} ${`${body}`.slice(0, 300)}`)
              .join('\n');
            throw new Error(
              `Request ${seed} got ${fault}:\n${JSON.stringify(hostile.bytes)} after ${JSON.stringify(earlier)}\n${answers}${rest}`,
            );
          }
          earlier = hostile.bytes;
          if (isClosed || !hostile.isWhole) kept.destroy();
          for (const { status } of replies) statuses.set(status, (statuses.get(status) ?? 0) + 1);
          if (replies.length === 0) statuses.set('none', (statuses.get('none') ?? 0) + 1);
        }
        kept?.destroy();
      };
      const started = performance.now();
      await Promise.all(Array.from({ length: CONNECTIONS }, client));
      const seconds = (performance.now() - started) / 1000;
      const counts = [...statuses].toSorted().map(([status, count]) => `${status}: ${count}`);
      printFigure(
        PROMISE,
        `${parser}, ${way}, ${requests} in ${seconds.toFixed(0)} s, ${counts.join(', ')}; memory at most ${memory.toFixed(0)} MB`,
      );
      // Few hostile requests have a known ETag, or name an older snapshot, and are right otherwise.
      const rare = IS_FULL ? [304, ...(isFront ? [] : [412])] : [];
      for (const status of [200, 400, 401, 404, 405, ...rare]) {
        expect(statuses.get(status), `${status}`).toBeGreaterThan(0);
      }
      expect(memory).toBeLessThan(MOST_MEGABYTES);
      expect(proxy.child.exitCode).toBeNull();
      expect(proxy.log()).not.toContain('a request failed');
      const written = { ...nginx.logs(), proxy: proxy.log(), metrics: await proxy.metrics() };
      for (const [name, text] of Object.entries(written))
        expect([name, traceIn(text)]).toEqual([name, undefined]);
      const healthy = await proxy.get('/stats', key.key);
      expect(healthy.status).toBe(200);
    });
  });
});
