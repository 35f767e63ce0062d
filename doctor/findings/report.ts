/** Prints the findings: as text for people, or as one JSON object for programs. */
import { printableJson } from '../../generator/report/shown-value.ts';
import type { Finding, Level } from './check.ts';
import { type CheckResult, worstOf } from './run-checks.ts';

const LABELS: Readonly<Record<Level, string>> = {
  ok: 'ok',
  warning: 'WARNING',
  error: 'ERROR',
  skipped: 'skipped',
};
const INDENT = ' '.repeat(11);

/** The lines of one check. */
export function asText({ name, findings }: CheckResult): string {
  const lines = findings.flatMap((finding) => linesOf(finding));
  return `${name}\n${lines.map((line) => `${line}\n`).join('')}\n`;
}

/** The last line: how many findings of each level there are. */
export function summaryOf(results: readonly CheckResult[]): string {
  const counts = countsOf(results);
  const count = (number: number, one: string, many = `${one}s`) =>
    `${number} ${number === 1 ? one : many}`;
  return `${count(counts.error, 'error')}, ${count(counts.warning, 'warning')}, ${counts.skipped} skipped.\n`;
}

export function asJson(results: readonly CheckResult[]): string {
  return `${printableJson({ worst: worstOf(results), counts: countsOf(results), checks: results })}\n`;
}

function countsOf(results: readonly CheckResult[]): Record<Level, number> {
  const counts = { error: 0, warning: 0, skipped: 0, ok: 0 };
  for (const { findings } of results) for (const { level } of findings) counts[level]++;
  return counts;
}

function linesOf({ level, text, fix, data }: Finding): string[] {
  const label = `  ${LABELS[level].padEnd(INDENT.length - 2)}`;
  const records = data === undefined ? [] : Array.isArray(data) ? data : [data];
  return [
    `${label}${printable(text)}`,
    ...(fix === undefined ? [] : [`${INDENT}Fix: ${printable(fix)}`]),
    ...records.map((record) => `${INDENT}${printableJson(record)}`),
  ];
}

/** One line without characters that a terminal interprets: messages can quote values of rows. */
function printable(text: string): string {
  return printableJson(text.replaceAll(/\s*\n\s*/g, ' '))
    .slice(1, -1)
    .replaceAll('\\"', '"')
    .replaceAll('\\\\', '\\');
}
