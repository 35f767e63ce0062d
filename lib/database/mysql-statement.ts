/**
 * Executes one statement on one mysql2 connection. The promise always settles. mysql2 alone would wait
 * forever if the connection died mid-stream or the server stopped sending.
 */
import type { Socket } from 'node:net';
import type { FieldPacket, PoolConnection, ResultSetHeader } from 'mysql2';
import { unlessActive } from '../program/time-limit.ts';
import type { Row, Value } from './database.ts';

// Codes of column types, which mysql2's types do not declare.
const DECIMALS = new Set([0x00, 0xf6]);
const TIMES = new Set([0x07, 0x0c]);
const TEXTS_AND_BLOBS = new Set([0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe]);
const BINARY_CHARSET = 63;

/**
 * @param onRow called for each row as it arrives; an error that it throws ends the statement and is
 * thrown unchanged
 * @param stallSeconds how long the server may send nothing before the promise rejects
 * @param explain makes the error that is thrown of one of the server or of the connection. After it, do
 * not use the connection again if {@link isBroken} returns true.
 */
export function execute(
  connection: PoolConnection,
  sql: string,
  parameters: readonly Value[],
  onRow: (row: Row) => void,
  stallSeconds: number,
  explain: (cause: Error) => Error,
) {
  const socket = socketOf(connection);
  return new Promise<{ changes: number; insertId: number }>((resolve, reject) => {
    let isOver = false;
    let changes = 0;
    let insertId = 0;

    const end = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      connection.off('error', fail);
      socket.off('close', onClose).off('timeout', onTimeout).setTimeout(0);
      settle();
    };
    const fail = (cause: Error & { readonly fatal?: boolean }) => {
      if (cause.fatal) discard(connection);
      end(() => reject(explain(cause)));
    };
    const onClose = () => fail(new Error('the connection was closed'));
    const onTimeout = () => {
      // If a slow onRow was the cause, there are bytes to read.
      unlessActive(socket, () => {
        if (isOver) return;
        discard(connection);
        fail(new Error(`the server has sent nothing for ${stallSeconds} s`));
      });
    };

    let conversions: ReturnType<typeof conversionsOf> = [];
    const take = (row: Value[]) => {
      // After the statement was aborted, mysql2 still delivers the rows that it had already received.
      if (isOver) return;
      try {
        for (const [column, convert] of conversions) row[column] = convert(row[column]);
        onRow(row);
      } catch (error) {
        discard(connection);
        end(() => reject(error));
      }
    };

    connection.on('error', fail);
    socket
      .on('close', onClose)
      .on('timeout', onTimeout)
      .setTimeout(stallSeconds * 1000);
    connection
      .query({ sql, values: [...parameters], rowsAsArray: true })
      .on('error', fail)
      .on('fields', (fields: FieldPacket[] | undefined) => {
        if (fields) conversions = conversionsOf(fields);
      })
      .on('result', (result: Value[] | ResultSetHeader | null) => {
        if (Array.isArray(result)) return take(result);
        changes = result?.affectedRows ?? 0;
        insertId = Number(result?.insertId ?? 0);
      })
      .on('end', () => end(() => resolve({ changes, insertId })));
  });
}

/** Whether a connection has died or was discarded, so that no further statement may use it. */
export function isBroken(connection: PoolConnection): boolean {
  return socketOf(connection).destroyed;
}

/** Closes a connection at once; mysql2 alone would wait for the server to close its end. */
export function discard(connection: PoolConnection): void {
  const socket = socketOf(connection);
  // Without a listener, a later error of this connection would end the process.
  connection.on('error', () => {});
  connection.destroy();
  socket.destroy();
}

/** The socket of a connection, which mysql2's types do not declare; with TLS, the TLSSocket. */
export function socketOf(connection: PoolConnection): Socket {
  return (connection as unknown as { stream: Socket }).stream;
}

/** The columns whose values mysql2 returns in another form than `Value`, and their conversions. */
function conversionsOf(fields: readonly FieldPacket[]) {
  return fields.flatMap((field, column) => {
    const convert = conversionOf(field);
    return convert === undefined ? [] : [[column, convert] as const];
  });
}

/** mysql2's types do not declare `characterSet`, either. */
type Field = FieldPacket & { readonly characterSet?: number };

function conversionOf({ columnType = Number.NaN, characterSet, decimals }: Field) {
  // DECIMAL is the type of sums in views.
  if (DECIMALS.has(columnType)) return toNumber;
  if (TIMES.has(columnType) && decimals) {
    return (time: Value) => time && String(time).slice(0, 'YYYY-MM-DD HH:MM:SS'.length);
  }
  if (TEXTS_AND_BLOBS.has(columnType) && characterSet === BINARY_CHARSET) {
    return (bytes: Value | Buffer) => (Buffer.isBuffer(bytes) ? bytes.toString('utf8') : bytes);
  }
  return undefined;
}

function toNumber(text: Value): Value {
  if (typeof text !== 'string') return text;
  const number = Number(text);
  return text.includes('.') || Number.isSafeInteger(number) ? number : text;
}
