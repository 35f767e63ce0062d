/** Letters of 5 by 7 pixels, in capitals, and texts made of them. */
import { type Canvas, fillRectangle } from './canvas.ts';

const LETTER_WIDTH = 5;
const LETTER_HEIGHT = 7;
/** With the space after it. */
export const LETTER_STEP = LETTER_WIDTH + 1;
/** With the space below it. */
export const LINE_STEP = LETTER_HEIGHT + 2;

/** The seven rows of each letter from the top, one digit in base 32 each: the highest bit is the left pixel. */
const LETTERS: Readonly<Record<string, string>> = {
  A: 'EHHVHHH',
  B: 'UHHUHHU',
  C: 'EHGGGHE',
  D: 'UHHHHHU',
  E: 'VGGUGGV',
  F: 'VGGUGGG',
  G: 'EHGNHHF',
  H: 'HHHVHHH',
  I: 'E44444E',
  J: '72222IC',
  K: 'HIKOKIH',
  L: 'GGGGGGV',
  M: 'HRLLHHH',
  N: 'HHPLJHH',
  O: 'EHHHHHE',
  P: 'UHHUGGG',
  Q: 'EHHHLID',
  R: 'UHHUKIH',
  S: 'FGGE11U',
  T: 'V444444',
  U: 'HHHHHHE',
  V: 'HHHHHA4',
  W: 'HHHLLLA',
  X: 'HHA4AHH',
  Y: 'HHHA444',
  Z: 'V1248GV',
  0: 'EHJLPHE',
  1: '4C4444E',
  2: 'EH1248V',
  3: 'V2421HE',
  4: '26AIV22',
  5: 'VGU11HE',
  6: '68GUHHE',
  7: 'V124888',
  8: 'EHHEHHE',
  9: 'EHHF12C',
  '-': '000E000',
  "'": '4480000',
  '.': '00000CC',
  ',': '0000C48',
  ':': '0CC0CC0',
  '!': '4444404',
  '?': 'EH12404',
  '&': 'CIK8LID',
  '/': '01248G0',
  '+': '044V440',
};

/** Draws one line of text. A character without a letter leaves a space. */
export function drawText(
  canvas: Canvas,
  text: string,
  [left, top]: readonly [number, number],
  colour: number,
  scale = 1,
): void {
  for (const [index, character] of [...text].entries()) {
    const rows = LETTERS[character] ?? '';
    for (const [row, digit] of [...rows].entries()) {
      const bits = Number.parseInt(digit, 32);
      for (let column = 0; column < LETTER_WIDTH; column++) {
        if (((bits >> (LETTER_WIDTH - 1 - column)) & 1) === 0) continue;
        const x = left + (index * LETTER_STEP + column) * scale;
        fillRectangle(canvas, [x, top + row * scale, scale, scale], colour);
      }
    }
  }
}

/** A title in the characters that have letters; '' if it has none of them. */
export function toLetters(title: string): string {
  const capitals = title
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .toUpperCase();
  return [...capitals.replaceAll('’', "'")]
    .map((character) => (character in LETTERS ? character : ' '))
    .join('')
    .replace(/ +/g, ' ')
    .trim();
}

/** Breaks a text into lines of at most `most` characters, between words where possible. */
export function breakLines(text: string, most: number): string[] {
  const lines: string[] = [];
  for (let word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) {
      lines[lines.length - 1] = `${last} ${word}`;
      continue;
    }
    for (; word.length > most; word = word.slice(most)) lines.push(word.slice(0, most));
    lines.push(word);
  }
  return lines;
}
