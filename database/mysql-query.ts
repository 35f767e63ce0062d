/**
 * One statement on one mysql2 connection, from its text to its last row. It always comes to an end:
 * mysql2 itself waits for ever when a connection dies in mid-stream or its server falls silent.
 */
import type { Socket } from 'node:net';
import type { FieldPacket, PoolConnection, ResultSetHeader } from 'mysql2';
import type { Row, Value } from './database.ts';

export interface Outcome {
  readonly rows: number;
  readonly changes: number;
  readonly insertId: number;
}

/** Ticks without a byte that make a stall. */
const STALL_TICKS = 10;

// Of mysql2's constants, which its types leave out.
const DECIMAL = 0x00;
const NEWDECIMAL = 0xf6;
const TIMESTAMP = 0x07;
const DATETIME = 0x0c;
const BINARY_CHARSET = 63;
const TEXTS_AND_BLOBS = new Set([0x0f, 0xf9, 0xfa, 0xfb, 0xfc, 0xfd, 0xfe]);

/**
 * @param onRow called at once for each row; what it throws ends the statement and comes out as it is
 * @param stallSeconds reject when nothing has come from the server for so long
 * @throws Error of the server or the connection. The connection is unfit for further use when
 * `isBroken` says so
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
    let mend: ((row: unknown[]) => void) | undefined;

    const end = (settle: () => void) => {
      if (isOver) return;
      isOver = true;
      clearInterval(stallTimer);
      connection.removeListener('error', fail);
      socket.removeListener('close', onClose);
      settle();
    };
    const fail = (cause: Error) => end(() => reject(cause));
    const breakOff = (cause: unknown) => {
      discard(connection);
      end(() => reject(cause));
    };
    const onClose = () => fail(new Error('the connection was closed'));

    // Ticks are counted instead of looking at the clock: a long-working onRow holds them up along
    // with the socket, and must not count as the server's silence.
    let idleTicks = 0;
    let lastBytes = socket.bytesRead;
    const stallTimer = setInterval(
      () => {
        idleTicks = socket.bytesRead === lastBytes ? idleTicks + 1 : 0;
        lastBytes = socket.bytesRead;
        if (idleTicks < STALL_TICKS) return;
        breakOff(new Error(`the server has sent nothing for ${stallSeconds} s`));
      },
      (stallSeconds * 1000) / STALL_TICKS,
    );

    connection.on('error', fail);
    socket.on('close', onClose);
    connection
      .query({ sql, values: [...parameters], rowsAsArray: true })
      .on('error', fail)
      .on('fields', (fields: FieldPacket[] | undefined) => {
        mend = fields && menderOf(fields);
      })
      .on('result', (result: unknown) => {
        if (isOver) return;
        if (!Array.isArray(result)) {
          const header = result as ResultSetHeader | null;
          changes = header?.affectedRows ?? 0;
          insertId = Number(header?.insertId ?? 0);
          return;
        }
        try {
          mend?.(result);
          rows++;
          onRow(result as Value[]);
        } catch (error) {
          breakOff(error);
        }
      })
      .on('end', () => end(() => resolve({ rows, changes, insertId })));
  });
}

/** Whether a connection has died or was given up, so that no further statement may use it. */
export function isBroken(connection: PoolConnection): boolean {
  const { _closing, _fatalError } = connection as unknown as Record<string, unknown>;
  return Boolean(_closing || _fatalError || socketOf(connection).destroyed);
}

/** Drops a connection at once; mysql2 alone would wait for the server to close its end. */
export function discard(connection: PoolConnection): void {
  const socket = socketOf(connection);
  // A late error of a connection that is given up concerns nobody.
  connection.on('error', () => {});
  connection.destroy();
  socket.destroy();
}

/** The socket under a connection; with TLS, the encrypted one. */
export function socketOf(connection: PoolConnection): Socket {
  return (connection as unknown as { stream: Socket }).stream;
}

/**
 * Makes values what {@link Value} promises where mysql2 hands out other kinds: DECIMAL, which views
 * make of sums, is text; fractions of a second; binary strings are Buffers.
 * @returns undefined when no column needs it
 */
function menderOf(fields: readonly FieldPacket[]): ((row: unknown[]) => void) | undefined {
  const mends: [number, (value: never) => Value][] = [];
  fields.forEach((field, place) => {
    const type = field.columnType;
    const { characterSet, decimals } = field as { characterSet?: number; decimals?: number };
    if (type === undefined) return;
    if (type === DECIMAL || type === NEWDECIMAL) mends.push([place, toNumber]);
    else if ((type === DATETIME || type === TIMESTAMP) && decimals) mends.push([place, toSeconds]);
    else if (TEXTS_AND_BLOBS.has(type) && characterSet === BINARY_CHARSET) {
      mends.push([place, toText]);
    }
  });
  if (mends.length === 0) return undefined;
  return (row) => {
    for (const [place, mend] of mends) {
      if (row[place] !== null) row[place] = mend(row[place] as never);
    }
  };
}

function toNumber(text: string): Value {
  const number = Number(text);
  return text.includes('.') || Number.isSafeInteger(number) ? number : text;
}

function toSeconds(time: string): Value {
  return time.slice(0, 'YYYY-MM-DD HH:MM:SS'.length);
}

function toText(bytes: Buffer): Value {
  return bytes.toString('utf8');
}
