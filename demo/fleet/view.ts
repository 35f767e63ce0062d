/** What `npm run demo:fleet` shows: redrawn in place on a terminal, otherwise a line now and then. */

export interface ProxyView {
  readonly name: string;
  /** The generation that it serves; undefined if it does not answer. */
  readonly snapshot: string | undefined;
  /** How its limits are counted, such as "shared"; undefined if it does not answer. */
  readonly limits: string | undefined;
  readonly admitted: number;
  readonly refused: number;
}

export interface FleetView {
  readonly published: {
    readonly id: string;
    /** How long it took until all proxies served it; undefined while they do not. */
    readonly servedAfterSeconds: number | undefined;
  };
  readonly proxies: readonly ProxyView[];
  readonly limit: number;
  readonly admittedInMinute: number;
  readonly failed: number;
}

/** How often a line is printed where the output is not a terminal. */
const LINE_INTERVAL_MS = 5_000;

/** @returns a function that shows the present state of the fleet */
export function makeView(output: NodeJS.WriteStream): (view: FleetView) => void {
  let shownAt = Number.NEGATIVE_INFINITY;
  let height = 0;
  return (view) => {
    if (output.isTTY) {
      const lines = asTable(view);
      const up = height > 0 ? `\u001b[${height}A` : '';
      output.write(up + lines.map((line) => `${line}\u001b[K\n`).join(''));
      height = lines.length;
    } else if (performance.now() - shownAt >= LINE_INTERVAL_MS) {
      shownAt = performance.now();
      output.write(`${asLine(view)}\n`);
    }
  };
}

function asTable(view: FleetView): string[] {
  const row = (cells: readonly string[]) =>
    cells.map((cell, column) => cell.padEnd(WIDTHS[column])).join('');
  return [
    '',
    `Published generation  ${view.published.id}  ${whenServed(view)}`,
    '',
    row(['proxy', 'generation', 'limits', 'admitted', '429']),
    ...view.proxies.map(({ name, snapshot, limits, admitted, refused }) =>
      row([name, snapshot ?? 'no answer', limits ?? '–', String(admitted), String(refused)]),
    ),
    '',
    `Admitted in the last 60 s: ${view.admittedInMinute} of ${view.limit}    failed: ${view.failed}`,
  ];
}

const WIDTHS = [12, 24, 12, 12, 8];

function asLine(view: FleetView): string {
  const proxies = view.proxies.map(
    ({ name, snapshot, limits, admitted, refused }) =>
      `${name}: ${snapshot ?? 'no answer'}, limits ${limits ?? 'unknown'}, ${admitted} admitted, ${refused} × 429`,
  );
  return [
    `published ${view.published.id} (${whenServed(view)})`,
    ...proxies,
    `${view.admittedInMinute} of ${view.limit} admitted in the last 60 s, ${view.failed} failed`,
  ].join(' | ');
}

function whenServed({ published: { servedAfterSeconds } }: FleetView): string {
  return servedAfterSeconds === undefined
    ? 'on its way to the proxies'
    : `served by all proxies after ${servedAfterSeconds.toFixed(1)} s`;
}
