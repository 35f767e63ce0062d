/** Shapes on a grid of pixels. Whatever lies outside the grid is not drawn. */

export interface Canvas {
  readonly width: number;
  readonly height: number;
  /** For each pixel, row by row from the top, the index of its colour. */
  readonly pixels: Uint8Array;
}

export type Rectangle = readonly [left: number, top: number, width: number, height: number];

export function makeCanvas(width: number, height: number): Canvas {
  return { width, height, pixels: new Uint8Array(width * height) };
}

/** Gives each pixel of a rectangle the colour that `colourAt` returns; undefined leaves it as it is. */
export function paint(
  { width, height, pixels }: Canvas,
  [left, top, across, down]: Rectangle,
  colourAt: (x: number, y: number) => number | undefined,
): void {
  for (let y = Math.max(0, top); y < Math.min(height, top + down); y++) {
    for (let x = Math.max(0, left); x < Math.min(width, left + across); x++) {
      pixels[y * width + x] = colourAt(x, y) ?? pixels[y * width + x];
    }
  }
}

export function fillRectangle(canvas: Canvas, rectangle: Rectangle, colour: number): void {
  paint(canvas, rectangle, () => colour);
}

export function fillCircle(
  canvas: Canvas,
  [centreX, centreY]: readonly [number, number],
  radius: number,
  colour: number,
): void {
  const box: Rectangle = [
    Math.floor(centreX - radius),
    Math.floor(centreY - radius),
    Math.ceil(radius * 2) + 1,
    Math.ceil(radius * 2) + 1,
  ];
  paint(canvas, box, (x, y) =>
    Math.hypot(x + 0.5 - centreX, y + 0.5 - centreY) <= radius ? colour : undefined,
  );
}
