/**
 * Runs checks one after another. Each has a bounded time, and a check that fails or does not end never
 * stops the others. No secret of the environment leaves this module.
 */
import {
  CannotRun,
  type Check,
  type Finding,
  type Findings,
  type Level,
  type Scene,
} from './check.ts';
import { parseExactly } from './exact-json.ts';

export interface CheckResult {
  readonly name: string;
  readonly seconds: number;
  readonly findings: readonly Finding[];
}

export interface RunOptions {
  readonly limitMs: number;
  /** Removes secrets from a text. */
  readonly redact: (text: string) => string;
  /** Called when a check has ended. */
  readonly onResult?: (result: CheckResult) => void;
}

export async function runChecks(
  checks: readonly Check[],
  scene: Scene,
  options: RunOptions,
): Promise<CheckResult[]> {
  const results: CheckResult[] = [];
  for (const check of checks) {
    const result = await runCheck(check, scene, options);
    options.onResult?.(result);
    results.push(result);
  }
  return results;
}

/** The worst level among the findings. */
export function worstOf(results: readonly CheckResult[]): Level {
  const levels = results.flatMap(({ findings }) => findings.map(({ level }) => level));
  const order: readonly Level[] = ['error', 'warning', 'skipped'];
  return order.find((level) => levels.includes(level)) ?? 'ok';
}

async function runCheck(
  check: Check,
  scene: Scene,
  { limitMs, redact }: RunOptions,
): Promise<CheckResult> {
  const started = performance.now();
  const found: Finding[] = [];
  let isOver = false;
  const add = (finding: Finding) => {
    // A check that did not end in time may still be running.
    if (!isOver) found.push(withoutSecrets(finding, redact));
  };
  const findings: Findings = {
    ok: (text, data) => add({ level: 'ok', text, ...(data === undefined ? {} : { data }) }),
    warn: (text, fix) => add({ level: 'warning', text, fix }),
    error: (text, fix) => add({ level: 'error', text, fix }),
    skip: (text, fix) => add({ level: 'skipped', text, fix }),
  };
  const timer = deadline(limitMs);
  try {
    await Promise.race([check.run(scene, findings), timer.expired]);
  } catch (error) {
    addFailure(findings, error as Error);
  } finally {
    timer.clear();
  }
  isOver = true;
  const seconds = Math.round(performance.now() - started) / 1000;
  return { name: check.name, seconds, findings: found };
}

function addFailure({ skip, error: fail }: Findings, error: Error): void {
  if (error instanceof CannotRun) skip(error.message, error.fix);
  else if (error instanceof OutOfTime) fail(error.message, error.fix);
  else {
    fail(
      `This check failed: ${error.message}`,
      'Correct what the message names, and run the doctor again.',
    );
  }
}

class OutOfTime extends Error {
  readonly fix =
    'Find out what is slow: a busy database, a network that drops packets, or a disk or mount that does not respond. Then run the doctor again.';
}

function deadline(limitMs: number): { expired: Promise<never>; clear(): void } {
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new OutOfTime(`This check did not end within ${limitMs / 1000} seconds.`));
    }, limitMs);
  });
  return { expired, clear: () => clearTimeout(timer) };
}

function withoutSecrets(finding: Finding, redact: (text: string) => string): Finding {
  const { level, text, fix, data } = finding;
  return {
    level,
    text: redact(text),
    ...(fix === undefined ? {} : { fix: redact(fix) }),
    ...(data === undefined ? {} : { data: parseExactly(redact(JSON.stringify(data))) }),
  };
}
