/** Articles with examples of a generation: whatever a name of the catalogue is, it is shown as text. */
import { expect, test } from 'vitest';
import type { Examples, Shown } from '#site/docs/examples.ts';
import { readArticle } from '#site/docs/markdown.ts';

const TITLE = '*A* <b>B</b> {{game}} [c](https://x.example) &amp; "D" `e`';
const AS_MARKUP =
  '*A* &lt;b&gt;B&lt;/b&gt; {{game}} [c](https://x.example) &amp;amp; &quot;D&quot; `e`';

async function render(text: string) {
  const asked: string[] = [];
  const shown: Shown = {
    generation: undefined,
    examples: { title: TITLE, query: 'a b' } as Partial<Examples> as Examples,
    async responseTo(target) {
      asked.push(target);
      return TITLE;
    },
  };
  const { title, headings, render } = readArticle(text, 'id');
  return { title, headings, body: (await render(shown)).toString(), asked };
}

test('a name in a sentence, in code and in a list is text', async () => {
  const { body } = await render(
    '# T\n\nThis is {{title}}.\n\n* `{{title}}`\n\n| a |\n| --- |\n| {{title}} |\n\nX\n\n    {{title}} x\n',
  );
  expect(body).toContain(`<p>This is ${AS_MARKUP}.</p>`);
  expect(body).toContain(`<code>${AS_MARKUP}</code></li>`);
  expect(body).toContain(`<td>${AS_MARKUP}</td>`);
  expect(body).toContain(`<code id="id-5">${AS_MARKUP} x`);
});

test('below a call stands the response to it', async () => {
  const lines = ['curl -G "$COVERS_API/search"', '-H "Authorization: x"'];
  lines.push("--data-urlencode 'q={{query}}'", '-d sort=relevance');
  const call = lines.join(' \\\n  ');
  const { body, asked, title, headings } = await render(
    `# T\n\n## H h\n\n\`\`\`sh\n${call}\n\`\`\`\n`,
  );
  expect([title, headings]).toEqual(['T', [{ id: 'h-h', text: 'H h' }]]);
  expect(asked).toEqual(['/search?q=a%20b&sort=relevance']);
  expect(body).toContain('--data-urlencode &#39;q=a b&#39;');
  expect(body).toContain(`<code id="id-2-response">${AS_MARKUP}</code>`);
});

test('a name that does not exist is an error', async () => {
  await expect(render('# T\n\n{{nothing}}\n')).rejects.toThrow(
    'no example with the name "nothing"',
  );
});
