/** The code that pages show for a call. `test/site/docs/examples.test.ts` runs it. */
import { describe, expect, test } from 'vitest';
import { addressOf, callSamples } from '#lib/pages/call-samples.ts';

const API = 'https://api.covers.example/api/v1';
const HOSTILE = `'; rm -rf / #"\\ $(id) \`id\` </code>&\n\u2028é\ud800`;

describe('a call', () => {
  test('is shown in three languages', () => {
    const call = {
      path: '/games/{platformSlug}/{gameSlug}',
      pathValues: { platformSlug: 'snes', gameSlug: 'chrono-trigger' },
      query: { include: 'cover' },
    };
    const [curl, javascript, python] = callSamples(call, API);
    const address = `${API}/games/snes/chrono-trigger?include=cover`;
    expect(curl).toEqual({
      language: 'curl',
      text: `curl -H "Authorization: Bearer $COVERS_KEY" \\\n  '${address}'`,
    });
    expect(javascript.text).toContain(`fetch('${address}', {`);
    expect(python.text).toContain(`"${address}"`);
  });

  test('keeps lists readable, and encodes everything else', () => {
    const query = { slugs: 'snes/chrono-trigger,ds/x', q: 'a&b=c?' };
    expect(addressOf({ path: '/games', query }, API)).toBe(
      `${API}/games?slugs=snes/chrono-trigger,ds/x&q=a%26b%3Dc%3F`,
    );
  });

  test('has no value that leaves its quotes', () => {
    const call = { path: '/search', query: { q: HOSTILE, "it's": HOSTILE } };
    const [curl, javascript, python] = callSamples(call, API);
    // Between the quotes there is nothing but the address.
    expect(curl.text).toMatch(/^curl -H "[^"]*" \\\n {2}'[\w:/.%?&=!()*~-]*'$/);
    expect(python.text).toMatch(/Request\(\n {4}"[\w:/.%?&=!()*~'-]*",\n/);
    expect(javascript.text).toMatch(/^const response = await fetch\('[\w:/.%?&=!()*~-]*', \{\n/);
  });
});
