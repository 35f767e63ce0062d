/** Asks a program that runs on this machine about its state. */
import { messageOf } from '../../program/failure.ts';
import type { Findings } from '../findings/check.ts';

const ANSWER_MS = 2_000;

/** Turns an address on which a server listens into one to connect to. */
export function addressOf(host: string, port: number): string {
  const target = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host;
  return `http://${target.includes(':') ? `[${target}]` : target}:${port}`;
}

export interface AskedProgram {
  readonly url: string;
  /** What findings call the program, such as "the proxy". */
  readonly name: string;
  /** What an operator starts if it does not run. */
  readonly start: string;
}

/**
 * Asks a program for JSON. Calls `reportDown` if it cannot be reached, and reports an error if it accepts
 * the connection but does not answer.
 * @returns the JSON of the answer, or null if it is not JSON; undefined if nothing answers
 */
export async function ask(
  { url, name, start }: AskedProgram,
  { warn, error }: Findings,
  reportDown = warn,
): Promise<unknown> {
  try {
    const options = { signal: AbortSignal.timeout(ANSWER_MS), redirect: 'manual' } as const;
    const response = await fetch(url, options);
    const text = await response.text();
    try {
      return JSON.parse(text);
    } catch {
      return null;
    }
  } catch (cause) {
    if ((cause as Error).name === 'TimeoutError') {
      error(
        `At ${url}, ${name} accepted the connection but did not answer within ${ANSWER_MS / 1000} seconds.`,
        'Check its log and its CPU usage, then restart it.',
      );
      return undefined;
    }
    const reason = messageOf((cause as Error).cause ?? cause);
    reportDown(
      `At ${url}, ${name} cannot be reached: ${reason}.`,
      `Start ${start}, if it should run on this machine.`,
    );
    return undefined;
  }
}
