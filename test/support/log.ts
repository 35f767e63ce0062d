/** Collects the lines that a program or a part of it logs, and lets a test wait for one. */

export interface Log {
  write(text: string): void;
  /** Everything so far. */
  text(): string;
  /**
   * Resolves with the last of so many lines that contain the text, which may be there already.
   * Rejects if the log ends before.
   */
  logged(part: string, times?: number): Promise<string>;
  /** No more lines come. @param reason for the errors of those who wait */
  end(reason: string): void;
}

export function makeLog(): Log {
  let text = '';
  let ended: string | undefined;
  const checks = new Set<() => void>();
  const checkAll = () => {
    for (const check of checks) check();
  };
  return {
    write(more) {
      text += more;
      checkAll();
    },
    text: () => text,
    logged(part, times = 1) {
      return new Promise((resolve, reject) => {
        const check = () => {
          const complete = text.slice(0, text.lastIndexOf('\n') + 1);
          const lines = complete.split('\n').filter((line) => line.includes(part));
          if (lines.length >= times) resolve(lines[times - 1] as string);
          else if (ended !== undefined) {
            reject(new Error(`${ended} without having logged ${JSON.stringify(part)}:\n${text}`));
          } else return;
          checks.delete(check);
        };
        checks.add(check);
        check();
      });
    },
    end(reason) {
      ended = reason;
      checkAll();
    },
  };
}

/** A line that is long enough to fill disks, and can be told from others. */
export const numberedLine = (number: number) =>
  `{"number":${number},"text":"${'x'.repeat(100)}"}\n`;

/** @throws Error if a line is not whole */
export const numbersIn = (lines: string): number[] =>
  lines
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).number);
