/**
 * A headless Chromium, spoken to over its own protocol (CDP). It hands out one page at a time and
 * notes everything that the page asked for and complained of.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

// Without the network flags Chromium looks for its maker's hosts at every start.
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--disable-dev-shm-usage',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--remote-debugging-port=0',
];
const LONGEST_WAIT_MS = 20_000;

export interface Looks {
  readonly width: number;
  readonly height: number;
  readonly colorScheme: 'light' | 'dark';
}

export interface Page {
  /** Every address asked for so far. */
  readonly requests: readonly string[];
  /** Errors and warnings of the console, refusals of the content security policy among them. */
  readonly complaints: readonly string[];
  /** The value of an expression, awaited and as JSON would carry it. */
  // biome-ignore lint/suspicious/noExplicitAny: any value may come out of a page
  evaluate(expression: string): Promise<any>;
  /** Waits until an expression is true. */
  until(expression: string): Promise<void>;
  /** A PNG of what is in view. */
  screenshot(): Promise<Buffer>;
  close(): Promise<void>;
}

export interface Browser {
  open(url: string, looks: Looks): Promise<Page>;
  close(): Promise<void>;
}

// biome-ignore lint/suspicious/noExplicitAny: the protocol's messages have hundreds of shapes
type Message = Record<string, any>;

export async function startBrowser(): Promise<Browser> {
  const profile = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-browser-'));
  const child = spawn('chromium', [...FLAGS, `--user-data-dir=${profile}`], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const exited = new Promise((resolve) => child.once('exit', resolve));
  const socket = new WebSocket(await debuggerAddress(child));
  await once(socket, 'open');
  const waiting = new Map<number, (message: Message) => void>();
  const listeners = new Map<string, (message: Message) => void>();
  let lastId = 0;
  socket.addEventListener('message', ({ data }) => {
    const message: Message = JSON.parse(String(data));
    if (message.id === undefined) listeners.get(message.sessionId ?? '')?.(message);
    else waiting.get(message.id)?.(message);
  });

  async function command(method: string, params = {}, sessionId?: string): Promise<Message> {
    const id = ++lastId;
    const answer = new Promise<Message>((resolve) => waiting.set(id, resolve));
    socket.send(JSON.stringify({ id, method, params, sessionId }));
    const { error, result } = await answer;
    waiting.delete(id);
    if (error !== undefined) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  return {
    async open(url, { width, height, colorScheme }) {
      const { targetId } = await command('Target.createTarget', { url: 'about:blank' });
      const { sessionId } = await command('Target.attachToTarget', { targetId, flatten: true });
      const send = (method: string, params = {}) => command(method, params, sessionId);
      const requests: string[] = [];
      const complaints: string[] = [];
      listeners.set(sessionId, ({ method, params }) => {
        if (method === 'Network.requestWillBeSent') requests.push(params.request.url);
        else if (method === 'Runtime.exceptionThrown') {
          complaints.push(params.exceptionDetails.exception?.description ?? 'an exception');
        } else if (method === 'Log.entryAdded') {
          const { level, text } = params.entry;
          if (level === 'error' || level === 'warning') complaints.push(text);
        } else if (method === 'Runtime.consoleAPICalled') {
          const text = params.args.map((arg: Message) => arg.value ?? arg.description).join(' ');
          if (params.type === 'error' || params.type === 'warning') complaints.push(text);
        }
      });
      for (const domain of ['Network', 'Runtime', 'Log', 'Page']) await send(`${domain}.enable`);
      await send('Emulation.setDeviceMetricsOverride', {
        width,
        height,
        deviceScaleFactor: 1,
        mobile: width < 600,
      });
      await send('Emulation.setEmulatedMedia', {
        features: [{ name: 'prefers-color-scheme', value: colorScheme }],
      });
      await send('Page.navigate', { url });

      async function evaluate(expression: string) {
        const { result, exceptionDetails } = await send('Runtime.evaluate', {
          expression,
          awaitPromise: true,
          returnByValue: true,
        });
        if (exceptionDetails !== undefined) {
          throw new Error(`${expression}: ${exceptionDetails.exception?.description}`);
        }
        return result.value;
      }

      return {
        requests,
        complaints,
        evaluate,
        async until(expression) {
          const deadline = performance.now() + LONGEST_WAIT_MS;
          while (!(await evaluate(`Boolean(${expression})`))) {
            if (performance.now() > deadline) {
              throw new Error(`Not seen: ${expression}\n${complaints.join('\n')}`);
            }
            await new Promise((resolve) => setTimeout(resolve, 50));
          }
        },
        async screenshot() {
          return Buffer.from((await send('Page.captureScreenshot')).data, 'base64');
        },
        async close() {
          await command('Target.closeTarget', { targetId });
          listeners.delete(sessionId);
        },
      };
    },
    async close() {
      await command('Browser.close');
      await exited;
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** Chromium prints where it listens; before that it may print anything. */
function debuggerAddress(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = '';
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`Chromium ended with ${code}:\n${printed}`)));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
      const [, address] = /^DevTools listening on (ws:\S+)$/m.exec(printed) ?? [];
      if (address !== undefined) resolve(address);
    });
  });
}
