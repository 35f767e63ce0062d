/**
 * CSV for people who open it in a spreadsheet. Values go in, lines come out. Invariant: a text that a spreadsheet
 * would read as a formula stays a text (OWASP, "CSV Injection").
 */

/** What a spreadsheet may take for the beginning of a formula. Full-width signs count in some languages. */
const FORMULA = /^[=+\-@\t\r\n＝＋－＠]/;

/** One line, without its end. A list is one field, its items separated by commas. */
export function csvLine(values: readonly unknown[]): string {
  return values.map(csvField).join(',');
}

function csvField(value: unknown): string {
  const text = String(value ?? '');
  const isFormula = typeof value !== 'number' && FORMULA.test(text);
  return `"${isFormula ? "'" : ''}${text.replaceAll('"', '""')}"`;
}
