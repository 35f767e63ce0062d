/** Draws lines in panels with logarithmic axes, as an SVG for light and dark pages. */

export interface Panel {
  /** What its lines show, with the unit. */
  readonly title: string;
  /** A line has a value for each `x`; NaN where there is none. */
  readonly lines: readonly { readonly name: string; readonly values: readonly number[] }[];
}

const [LEFT, TOP, WIDTH, HEIGHT, LINE] = [40, 30, 230, 200, 16];
const [PANEL_WIDTH, AXIS] = [LEFT + WIDTH + 20, TOP + HEIGHT];
const STYLE = `text{font:11px sans-serif;fill:#333}path{fill:none;stroke:#8884}.line{stroke-width:2}
.l0{stroke:#0969da}.l1{stroke:#d1570a}.l2{stroke:#1a7f37}.guide{stroke:#888;stroke-dasharray:2 4}
@media(prefers-color-scheme:dark){text{fill:#ddd}.l0{stroke:#58a6ff}.l1{stroke:#ffa657}.l2{stroke:#56d364}}`;
const compact = new Intl.NumberFormat('en', { notation: 'compact' });

/** @param xs ascending, at least two @param noun what they count @param panels with up to three lines */
export function drawChart(noun: string, xs: readonly number[], panels: readonly Panel[]): string {
  const drawn = panels.map(
    (panel, at) => `<g transform="translate(${at * PANEL_WIDTH} 0)">${drawPanel(xs, panel)}</g>`,
  );
  const height = AXIS + LINE * 6;
  const note = textAt(LEFT, height - 8, `Horizontally: ${noun}. Dotted: in proportion to them.`);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${PANEL_WIDTH * panels.length} ${height}" role="img" aria-label="Cost against ${noun}"><style>${STYLE}</style>${drawn.join('\n')}${note}</svg>\n`;
}

function drawPanel(xs: readonly number[], { title, lines }: Panel): string {
  const last = lines[0].values.length - 1;
  const guide = xs.map((x) => (lines[0].values[last] * x) / xs[last]);
  const known = [guide, ...lines.map(({ values }) => values)].flat().filter((value) => value > 0);
  const logarithms = known.map(Math.log10);
  const [lowest, highest] = [
    Math.floor(Math.min(...logarithms)),
    Math.ceil(Math.max(...logarithms)),
  ];
  const first = Math.log10(xs[0]);
  const toX = (x: number) =>
    Math.round((WIDTH * (Math.log10(x) - first)) / (Math.log10(xs[xs.length - 1]) - first));
  const toY = (y: number) => Math.round((HEIGHT * (highest - Math.log10(y))) / (highest - lowest));
  const draw = (style: string, values: readonly number[]) => {
    const points = values.flatMap((value, at) => (value > 0 ? `${toX(xs[at])} ${toY(value)}` : []));
    return `<path class="${style}" d="M${points.join('L')}"/>`;
  };
  const decades = Array.from({ length: highest - lowest + 1 }, (_, at) => 10 ** (lowest + at));
  return [
    textAt(0, LINE, title),
    ...xs.map((x) => textAt(LEFT + toX(x), AXIS + LINE, compact.format(x), 'middle')),
    ...decades.map((y) => textAt(LEFT - 6, TOP + toY(y) + 4, `${+y.toPrecision(1)}`, 'end')),
    `<g transform="translate(${LEFT} ${TOP})">`,
    ...decades.map((y) => `<path d="M0 ${toY(y)}H${WIDTH}"/>`),
    ...xs.map((x) => `<path d="M${toX(x)} 0V${HEIGHT}"/>`),
    draw('guide', guide),
    ...lines.map(({ values }, at) => draw(`line l${at}`, values)),
    '</g>',
    ...lines.map(({ name }, at) => {
      const y = AXIS + LINE * (at + 2);
      const sample = `<path class="line l${at}" d="M${LEFT} ${y}h20"/>`;
      return sample + textAt(LEFT + 26, y + 4, name);
    }),
  ].join('\n');
}

function textAt(x: number, y: number, text: string, anchor = 'start'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}">${text}</text>`;
}
