/**
 * Columns that throw when a reader goes past their ends. A typed array would give `undefined`, and the
 * reader would calculate with NaN.
 */
import type { Column } from '#lib/format/index/columns.ts';

/** Makes each column of an object strict, and keeps everything else. */
export function strictly<T extends object>(columns: T): T {
  return Object.fromEntries(
    Object.entries(columns).map(([name, value]) => {
      if (ArrayBuffer.isView(value)) return [name, strictColumn(value as Column, name)];
      const isObject = typeof value === 'object' && value !== null && value.constructor === Object;
      return [name, isObject ? strictly(value) : value];
    }),
  ) as T;
}

function strictColumn<T extends Column>(column: T, name: string): T {
  return new Proxy(column, {
    get(target, key) {
      if (key === 'subarray') {
        return (from = 0, to = target.length) => {
          const isInside = Number.isInteger(from) && from >= 0 && from <= to && to <= target.length;
          if (!isInside) throw new Error(`"${name}" has no entries ${from} to ${to}.`);
          return strictColumn(target.subarray(from, to) as T, name);
        };
      }
      if (!(key in target)) throw new Error(`"${name}" has no entry ${String(key)}.`);
      const value = Reflect.get(target, key, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
