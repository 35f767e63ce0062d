/**
 * Executes one statement on one mysql2 connection. The promise always settles. mysql2 alone would wait
 * forever if the connection died mid-stream or the server stopped sending.
 */
import type { Socket } from 'node:net';
import type { FieldPacket, PoolConnection, ResultSetHeader } from 'mysql2';
import type { Row, Value } from './database.ts';
import { fixerOf } from './mysql-fields.ts';

export interface Outcome {
  readonly rows: number;
  readonly changes: number;
  readonly insertId: number;
}

/** After this many timer ticks without a byte from the server, the statement has stalled. */
const STALL_TICKS = 10;

/**
 * @param onRow called for each row as it arrives; an error that it throws ends the statement and is
 * thrown unchanged
 * @param stallSeconds how long the server may send nothing before the promise rejects
 * @throws the error of the server or the connection. After it, do not use the connection again if
 * {@link isBroken} returns true.
 */
export function execute(
  connection: PoolConnection,
  sql: string,
  parameters: readonly Value[],
  onRow: (row: Row) => void,
  stallSeconds: number,
): Promise<Outcome> {
  const socket = socketOf(connection);
  return new Promise((resolve, reject) => {
    let isOver = false;
    let rows = 0;
    let changes = 0;
    let insertId = 0;

    const end = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      clearInterval(stallTimer);
      connection.removeListener('error', fail);
      socket.removeListener('close', onClose);
      settle();
    };
    const fail = (cause: Error) => end(() => reject(cause));
    const abort = (cause: unknown) => {
      discard(connection);
      end(() => reject(cause));
    };
    const onClose = () => fail(new Error('the connection was closed'));

    // Counts ticks instead of reading the clock. A slow onRow delays the ticks as much as the socket, so
    // it does not look like a stall.
    let idleTicks = 0;
    let lastBytes = socket.bytesRead;
    const stallTimer = setInterval(
      () => {
        idleTicks = socket.bytesRead === lastBytes ? idleTicks + 1 : 0;
        lastBytes = socket.bytesRead;
        if (idleTicks < STALL_TICKS) return;
        abort(new Error(`the server has sent nothing for ${stallSeconds} s`));
      },
      (stallSeconds * 1000) / STALL_TICKS,
    );

    let fix: ((row: Value[]) => void) | undefined;
    const take = (row: Value[]) => {
      // After the statement was aborted, mysql2 still delivers the rows that it had already received.
      if (isOver) return;
      try {
        rows++;
        fix?.(row);
        onRow(row);
      } catch (error) {
        abort(error);
      }
    };

    connection.on('error', fail);
    socket.on('close', onClose);
    const query = connection.query({ sql, values: [...parameters], rowsAsArray: true });
    query
      .on('error', fail)
      .on('fields', (fields: FieldPacket[] | undefined) => {
        if (fields) fix = fixerOf(fields);
      })
      .on('result', (result: Value[] | ResultSetHeader | null) => {
        if (Array.isArray(result)) return take(result);
        changes = result?.affectedRows ?? 0;
        insertId = Number(result?.insertId ?? 0);
      })
      .on('end', () => end(() => resolve({ rows, changes, insertId })));
  });
}

/** Whether a connection has died or was discarded, so that no further statement may use it. */
export function isBroken(connection: PoolConnection): boolean {
  const { _closing, _fatalError } = connection as unknown as Record<string, unknown>;
  return Boolean(_closing || _fatalError || socketOf(connection).destroyed);
}

/** Closes a connection at once; mysql2 alone would wait for the server to close its end. */
export function discard(connection: PoolConnection): void {
  const socket = socketOf(connection);
  // Without a listener, a later error of this connection would end the process.
  connection.on('error', () => {});
  connection.destroy();
  socket.destroy();
}

/** The socket of a connection; with TLS, the TLSSocket. */
export function socketOf(connection: PoolConnection): Socket {
  return (connection as unknown as { stream: Socket }).stream;
}
