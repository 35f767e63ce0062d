/** The code that pages show for a call. `test/site/docs/examples.test.ts` runs it. */
import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
import { addressOf, callSamples } from '#lib/pages/files/call-samples.js';

const API = 'https://api.covers.example/api/v1';
const HOSTILE = `'; rm -rf / #"\\ $(id) \`id\` \${id} {id} </code>&!! \n\u2028é\ud800`;

function samplesOf(call: Parameters<typeof callSamples>[0]) {
  return callSamples(call).map(({ text }) => text);
}

describe('a call', () => {
  test('is shown in three languages, each parameter in a line', () => {
    const [curl, javascript, python] = samplesOf({
      path: '/games/{platformSlug}/{gameSlug}',
      pathValues: { platformSlug: 'snes', gameSlug: 'chrono-trigger' },
      query: { include: 'cover', q: 'prince of persia', page: undefined },
    });
    expect(curl).toBe(`curl -G "$COVERS_API/games/snes/chrono-trigger" \\
  -H "Authorization: Bearer $COVERS_KEY" \\
  -d include=cover \\
  --data-urlencode 'q=prince of persia'`);
    expect(javascript).toContain(
      "URLSearchParams({\n  include: 'cover',\n  q: 'prince of persia',\n})",
    );
    expect(python).toContain(
      'urlencode({\n    "include": "cover",\n    "q": "prince of persia",\n})',
    );
    for (const text of [javascript, python]) {
      expect(text).toContain('{api}/games/snes/chrono-trigger?');
    }
  });

  test('of a file is shown for curl only', () => {
    expect(samplesOf({ path: '/snapshot/archive', file: 'snapshot.tar' })).toEqual([
      'curl "$COVERS_API/snapshot/archive" \\\n  -H "Authorization: Bearer $COVERS_KEY" \\\n  -o snapshot.tar',
    ]);
  });

  test('has lines of at most 53 characters, however long a value is', () => {
    const names =
      'Ratchet & Clank (USA).zip/Chrono Trigger (USA).sfc/secret of mana (E) [!].zip,Final Fantasy IX (Disc 4).chd';
    for (const text of samplesOf({ path: '/match', query: { platform: 'snes', names } })) {
      expect(text.split('\n').filter(({ length }) => length > 53)).toEqual([]);
    }
  });

  test('keeps lists readable in an address, and encodes everything else', () => {
    const query = { slugs: 'snes/chrono-trigger,ds/x', q: "a&b=c?'!" };
    expect(addressOf({ path: '/games', query }, API)).toBe(
      `${API}/games?slugs=snes/chrono-trigger,ds/x&q=a%26b%3Dc%3F%27%21`,
    );
  });

  test('has no value that becomes code', () => {
    const [curl = '', javascript = '', python = ''] = samplesOf({
      path: '/games/{slug}',
      pathValues: { slug: HOSTILE },
      query: { q: HOSTILE },
    });
    const sent = HOSTILE.toWellFormed();
    // Each program prints what it would send, instead of sending it.
    const inShell = `curl() { printf '%s' "$6"; }\n${curl}`;
    const inNode = javascript.replace(/const response.*/s, 'process.stdout.write(query.get("q"))');
    const inPython = python
      .replace(
        /request = .*/s,
        'import sys; sys.stdout.reconfigure(encoding="utf-8", newline="")\n',
      )
      .replace('urllib.parse.urlencode({', 'dict({')
      .concat('print(query["q"], end="")');
    const env = { PATH: process.env.PATH, COVERS_API: API, COVERS_KEY: 'k' };
    const run = (command: string, ...args: string[]) =>
      execFileSync(command, args, { env, encoding: 'utf8' });
    expect(run('sh', '-c', inShell)).toBe(`q=${sent}`);
    expect(run(process.execPath, '-e', inNode)).toBe(sent);
    expect(run('python3', '-c', inPython)).toBe(sent);
    // In the path, everything else is encoded.
    for (const text of [curl, javascript, python]) {
      expect(text).toMatch(/\/games\/[\w%./~*(),-]+(?:"|\?\$?\{query\}["`])/);
    }
  });
});
