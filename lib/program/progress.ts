/**
 * The progress of a run on stderr: a bar on a terminal, plain lines elsewhere.
 */
import { SingleBar } from 'cli-progress';
import type { Logger } from 'pino';

export interface Progress {
  /**
   * Shows the progress of a step.
   * @param done how much is done: a number of rows, or a text such as "12.5 of 210.0 MB"
   * @param share about which share of the step is done: 0 to 1, and 1 only at the end
   */
  advance(step: string, done: number | string, share: number): void;
  /** Shows that a step begins whose progress is not known. */
  step(step: string): void;
  warn(text: string): void;
  /** Removes the bar. */
  end(): void;
}

/** A stream to print on. */
export interface Printable {
  write(text: string | Uint8Array): unknown;
}

/** Shows nothing. */
export const SILENT: Progress = { advance() {}, step() {}, warn() {}, end() {} };

export function makeProgress(stream: Printable | NodeJS.WriteStream): Progress {
  return 'isTTY' in stream && stream.isTTY ? makeBar(stream) : makeLines(stream);
}

/** For a program that runs all the time: steps are only logged for who looks for a fault. */
export function logProgress(log: Logger): Progress {
  const step = (text: string) => log.debug(text);
  return { advance() {}, step, warn: (text) => log.warn(text), end() {} };
}

function makeLines(stream: Printable): Progress {
  const print = (text: string) => stream.write(`${text}\n`);
  return {
    advance(step, done, share) {
      if (share === 1) print(`${step}: ${done}`);
    },
    step: print,
    warn: print,
    end() {},
  };
}

function makeBar(stream: NodeJS.WriteStream): Progress {
  const bar = new SingleBar({
    stream,
    format: '{step} |{bar}| {done}',
    clearOnComplete: true,
    hideCursor: true,
  });
  let current = '';
  const stop = () => {
    if (current !== '') bar.stop();
    current = '';
  };
  return {
    advance(step, done, share) {
      if (step !== current) {
        stop();
        current = step;
        bar.start(1, 0, { step, done });
      }
      bar.update(share, { done });
    },
    step(step) {
      stop();
      stream.write(`${step} …\n`);
    },
    warn(text) {
      stop();
      stream.write(`${text}\n`);
    },
    end: stop,
  };
}
