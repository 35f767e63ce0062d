/**
 * Reads what a full run reads from the catalogue in DATABASE_URL, in one consistent read, and discards it.
 * Usage: node read-rows.ts rows|buffers|joined. The driver makes values of the columns, or Buffers; or the
 * server joins all columns of a row, and the driver makes one Buffer of each row.
 */
import { createConnection } from 'mysql2';
import { readEnvironment } from '../../../program/environment/environment.ts';
import { QUERIES } from './queries.ts';

const [form = 'rows'] = process.argv.slice(2);
const connection = createConnection({
  uri: readEnvironment(['DATABASE_URL']).DATABASE_URL,
  supportBigNumbers: true,
  dateStrings: true,
  rowsAsArray: true,
  typeCast: form === 'rows',
});

function read(sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection
      .query(sql)
      .on('error', reject)
      .on('result', () => {})
      .on('end', resolve);
  });
}

await read("SET SESSION sql_mode = 'ANSI_QUOTES,PIPES_AS_CONCAT'");
await read('START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY');
for (const { columns, table } of QUERIES) {
  const joined = `CONCAT_WS(X'1F', ${columns.map((column) => `IFNULL(${column}, '')`).join(', ')})`;
  await read(`SELECT ${form === 'joined' ? joined : columns.join(', ')} FROM ${table} ORDER BY id`);
}
connection.end();
