/** The covers of the demo in a real browser, which breaks the lines of their titles. */
import { expect, test } from 'vitest';
import { sampleCatalogue } from '#demo/catalogue/sample.ts';
import { drawCovers } from '#demo/covers.ts';
import { useChromium } from '#test/support/browser.ts';

const visit = await useChromium();

test('each word of a title is on one line, and inside of the cover', async () => {
  const { images } = drawCovers(sampleCatalogue());
  const page = await visit('').open();
  // One picture of each title in each shape.
  const shapeOf = (svg: string) =>
    /viewBox="[^"]*"/.exec(svg)?.[0] + (/<p\s[^>]*>[^<]*/.exec(svg)?.[0] ?? '');
  const pictures = new Map([...images.values()].map((svg) => [shapeOf(svg), svg]));
  await page.setContent([...pictures.values()].join(''));
  const [words, wrong] = (await page.evaluate(`(() => {
    const wrong = [];
    let words = 0;
    for (const title of document.querySelectorAll('foreignObject p')) {
      const [text] = title.childNodes;
      const { left, right } = title.getBoundingClientRect();
      for (const { index, 0: word } of text.data.matchAll(/[^ ]+/g)) {
        words++;
        const range = new Range();
        range.setStart(text, index);
        range.setEnd(text, index + word.length);
        const [line, ...others] = range.getClientRects();
        // A hyphen of the title itself may end a line.
        if (others.length > 0 && !word.includes('-')) wrong.push(word);
        else if (line.left < left - 1 || line.right > right + 1) wrong.push(word);
      }
    }
    return [words, [...new Set(wrong)]];
  })()`)) as [number, string[]];
  expect(words).toBeGreaterThan(500);
  expect(wrong).toEqual([]);
});
