/** Starts the process that pushes the current generation (`main.ts`), and waits for its end. */
import { spawn } from 'node:child_process';
import path from 'node:path';

const PROGRAM = path.join(import.meta.dirname, 'main.ts');
/** In characters. */
const LONGEST_ERROR = 4_000;

/** How a push ended. */
export interface PushEnding {
  /** What was pushed; undefined if the push failed. */
  readonly result:
    | {
        readonly outcome: string;
        readonly id: string;
        readonly removed: number;
        readonly againInMs?: number | undefined;
      }
    | undefined;
  /** Warnings, or why the push failed. */
  readonly messages: string;
}

export interface RunningPush {
  readonly ended: Promise<PushEnding>;
  /** Ends the process. The next push continues with what the store has then. */
  stop(): void;
}

/** @param environment with SNAPSHOT_PUSH, SNAPSHOTS_DIR and the variables of the store */
export function startPush(environment: NodeJS.ProcessEnv): RunningPush {
  const child = spawn(process.execPath, [PROGRAM], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment,
  });
  const stop = () => void child.kill('SIGTERM');
  process.once('exit', stop);
  let output = '';
  let messages = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    output += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    messages = (messages + text).slice(-LONGEST_ERROR);
  });
  const ended = new Promise<PushEnding>((resolve) => {
    child.once('error', ({ message }) => resolve({ result: undefined, messages: message }));
    child.once('close', (code, signal) => {
      process.removeListener('exit', stop);
      const result = code === 0 ? parseResult(output) : undefined;
      const fallback = result === undefined ? `it ended with ${code ?? signal}` : '';
      resolve({ result, messages: messages.trim() || fallback });
    });
  });
  return { ended, stop };
}

/** @returns undefined if the process was ended while it printed */
function parseResult(output: string): PushEnding['result'] {
  try {
    return JSON.parse(output);
  } catch {
    return undefined;
  }
}
