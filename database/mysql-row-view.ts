/**
 * Rows of mysql2 as views of the packets that they came in, without mysql2 making values of them.
 * It takes the place of one step of mysql2's state machine, which its types do not show;
 * test/database/row-view.test.ts holds it to what mysql2 itself makes of the same rows.
 */
import type { FieldPacket, Query } from 'mysql2';
import type { Row, Value } from './database.ts';
import { kindOf, menderOf } from './mysql-fields.ts';
import { Kind, type RowView } from './row-view.ts';

/** What mysql2 hands to the step: good until it returns. */
interface Packet {
  readonly buffer: Buffer;
  offset: number;
  isEOF(): boolean;
}

interface QuerySteps {
  /** Takes a packet of a row or of the end. @returns the step for the next packet */
  row(packet: Packet): unknown;
  readonly _rowParser: {
    next(packet: Packet, fields: readonly FieldPacket[], options: unknown): unknown[];
  };
  readonly options: unknown;
}

// First bytes of a length: below these it is the length itself.
const IS_NULL = 0xfb;
const IN_TWO_BYTES = 0xfc;
const IN_THREE_BYTES = 0xfd;

/** To be called when the fields of the result are known, before its first row. */
export function viewRows(
  query: Query,
  fields: readonly FieldPacket[],
  onRow: (row: RowView) => void,
): void {
  const mend = menderOf(fields);
  const steps = query as unknown as QuerySteps;
  const kindOfColumn = Uint8Array.from(fields, kindOf);
  const columns = fields.length;
  const kind = new Uint8Array(columns);
  const start = new Int32Array(columns);
  const end = new Int32Array(columns);
  let current: Packet | undefined;
  /** Where its values begin: mysql2's parser moves the offset on. */
  let first = 0;

  const view = {
    bytes: Buffer.alloc(0) as Buffer,
    kind,
    start,
    end,
    values(): Row {
      (current as Packet).offset = first;
      const values = steps._rowParser.next(current as Packet, fields, steps.options);
      mend?.(values);
      return values as Value[];
    },
  };

  const endOfRows = steps.row;
  steps.row = function takeRow(packet) {
    if (packet.isEOF()) return endOfRows.call(query as unknown as QuerySteps, packet);
    const bytes = packet.buffer;
    let at = packet.offset;
    first = at;
    for (let column = 0; column < columns; column++) {
      let length = bytes[at++];
      if (length === IS_NULL) {
        kind[column] = Kind.NULL;
        continue;
      }
      if (length > IS_NULL) {
        const width = length === IN_TWO_BYTES ? 2 : length === IN_THREE_BYTES ? 3 : 8;
        // Of eight bytes the upper ones are zero: no row has more than a gigabyte.
        length = bytes.readUIntLE(at, Math.min(width, 4));
        at += width;
      }
      kind[column] = kindOfColumn[column];
      start[column] = at;
      at += length;
      end[column] = at;
    }
    view.bytes = bytes;
    current = packet;
    onRow(view);
    return takeRow;
  };
}
