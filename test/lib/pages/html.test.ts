/** The template tag of the pages. */
import { describe, expect, test } from 'vitest';
import { html } from '#lib/pages/html.ts';

describe('markup', () => {
  test('escapes every text, in elements and in attributes', () => {
    const text = `<script>alert("1")</script>&'`;
    const safe = '&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;&#39;';
    expect(String(html`<p title="${text}">${text}</p>`)).toBe(`<p title="${safe}">${safe}</p>`);
  });

  test('is inserted into other markup unchanged, alone or as a list', () => {
    const items = ['a<', 'b'].map((text) => html`<li>${text}</li>`);
    expect(String(html`<ul>${items}</ul>${undefined}${false}${7}`)).toBe(
      '<ul><li>a&lt;</li><li>b</li></ul>7',
    );
  });

  test('cannot be imitated by an object with the same members', () => {
    const forged = JSON.parse('{"isEscaped":true,"length":3}');
    expect(() => html`${forged}`).toThrow('not markup');
    expect(() => html`${[forged]}`).toThrow('not markup');
  });

  test('requires quotes around a value of an attribute', () => {
    expect(() => html`<p title=${'x onclick=1'}>`).toThrow('Put quotes around the value');
  });

  test('replaces control and direction characters', () => {
    expect(String(html`${'a\u202eb\u2066c\u0000d\u001b[2Je\nf\tg'}`)).toBe(
      'a\ufffdb\ufffdc\ufffdd\ufffd[2Je\nf\tg',
    );
  });
});
