/** Numbers in memory that threads share. */

export type NumberArray =
  | Uint8Array
  | Uint16Array
  | Uint32Array
  | Int16Array
  | Int32Array
  | Float64Array;

export type NumberArrayType<T extends NumberArray> = {
  new (buffer: SharedArrayBuffer, byteOffset?: number, length?: number): T;
  readonly BYTES_PER_ELEMENT: number;
};

/** An array of zeros. */
export function sharedZeros<T extends NumberArray>(Type: NumberArrayType<T>, length: number): T {
  return new Type(new SharedArrayBuffer(length * Type.BYTES_PER_ELEMENT));
}
