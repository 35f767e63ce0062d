/**
 * What a run shows of itself on stderr: a bar on a terminal, plain lines elsewhere.
 */
import { SingleBar } from 'cli-progress';

export interface Progress {
  /** A step that has a length. */
  advance(step: string, done: number, of: number): void;
  /** A step that has none. */
  step(step: string): void;
  warn(text: string): void;
  /** Takes the bar away. */
  end(): void;
}

export function makeProgress(stream: NodeJS.WriteStream): Progress {
  return stream.isTTY ? makeBar(stream) : makeLines(stream);
}

function makeLines(stream: NodeJS.WriteStream): Progress {
  const say = (text: string) => stream.write(`${text}\n`);
  return {
    advance(step, done, of) {
      if (done === of) say(`${step}: ${of}`);
    },
    step: say,
    warn: say,
    end() {},
  };
}

function makeBar(stream: NodeJS.WriteStream): Progress {
  const bar = new SingleBar({
    stream,
    format: '{step} |{bar}| {value}/{total}',
    clearOnComplete: true,
    hideCursor: true,
  });
  let current = '';
  const stop = () => {
    if (current !== '') bar.stop();
    current = '';
  };
  return {
    advance(step, done, of) {
      if (step !== current) {
        stop();
        current = step;
        bar.start(of, done, { step });
      }
      bar.update(done);
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
