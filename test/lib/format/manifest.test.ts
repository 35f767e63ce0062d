/** Which manifests are read and which are refused. No name in one leads out of the generation's folder. */
import { describe, expect, test } from 'vitest';
import * as layout from '#lib/format/layout.ts';
import {
  COLLATION_VERSIONS,
  contentHash,
  encodeManifest,
  findOtherCollation,
  makeManifest,
  parseManifest,
} from '#lib/format/manifest.ts';

const sha256 = 'ab'.repeat(32);
const packs = [layout.gamesPack('snes'), layout.coversPack('~x_1.b-')];
const content = {
  latest_cover_at: '2026-11-20T14:03:00Z',
  counts: { platforms: 1, games: 2, covers: 3, cover_files: 4, left_out: 0 },
  settings: { site_url: 'https://a.org', site_language: 'en', files_url: 'https://a.org/f' },
  files: [...layout.FIXED_FILES, ...packs].map((path) => ({ path, size: path.length, sha256 })),
};
const NOW = Date.UTC(2026, 10, 27, 12);
const manifest = makeManifest(content, 7, [], NOW);

/** The text of the manifest with a change, and with the id that fits the changed content. */
function change(members: object): string {
  const changed = { ...manifest, ...members };
  const id = layout.generationId(changed.sequence, contentHash(changed));
  return JSON.stringify({ ...changed, id });
}

function expectRefused(text: string, fault: string): void {
  expect(() => parseManifest(text), text).toThrow(`manifest.json is damaged: ${fault}`);
}

test('a manifest is read as it was made, in any order of its files', () => {
  expect(parseManifest(encodeManifest(manifest))).toEqual(manifest);
  const reversed = { ...content, files: [...content.files].reverse() };
  expect(makeManifest(reversed, 7, [], NOW)).toEqual(manifest);
  const paths = content.files.map(({ path }) => path);
  expect(manifest.files.map(({ path }) => path)).toEqual(paths.toSorted());
  const withoutCovers = makeManifest({ ...content, latest_cover_at: null }, 1);
  expect(parseManifest(encodeManifest(withoutCovers))).toEqual(withoutCovers);
});

test('a file keeps its time while its bytes are the same, and other bytes get a later one on any clock', () => {
  const [first, ...others] = content.files;
  const changed = { ...content, files: [{ ...first, sha256: 'cd'.repeat(32) }, ...others] };
  for (const [now, time] of [
    [NOW + 5_500, '2026-11-27T12:00:05Z'],
    [NOW, '2026-11-27T12:00:01Z'],
    [NOW - 60_000, '2026-11-27T12:00:01Z'],
  ] as const) {
    const { files } = makeManifest(changed, 8, manifest.files, now);
    for (const { path, changed_at } of files)
      expect(changed_at).toBe(path === first?.path ? time : '2026-11-27T12:00:00Z');
  }
  expect(makeManifest(content, 8, [], NOW + 1000).files[0]?.changed_at).toBe(
    '2026-11-27T12:00:01Z',
  );
});

test('a file whose time is years ahead, from a clock that was wrong, gets a time of now', () => {
  const years = 10 * 365 * 24 * 60 * 60_000;
  const ahead = makeManifest(content, 7, [], NOW + years).files;
  const other = {
    ...content,
    files: content.files.map((file) => ({ ...file, sha256: 'f'.repeat(64) })),
  };
  for (const { changed_at } of makeManifest(other, 8, ahead, NOW).files)
    expect(Date.parse(changed_at)).toBe(NOW);
});

test('the hash depends on everything but the sequence, and the id contains its beginning', () => {
  const hash = contentHash(content);
  expect(manifest.id).toBe(`000007-${hash.slice(0, 12)}`);
  expect(contentHash(makeManifest(content, 8))).toBe(hash);
  const others = [
    { ...content, latest_cover_at: null },
    { ...content, counts: { ...content.counts, left_out: 1 } },
    { ...content, settings: { ...content.settings, site_language: 'fr' } },
    { ...content, files: content.files.slice(1) },
    { ...content, files: content.files.map((file) => ({ ...file, size: file.size + 1 })) },
  ];
  expect(new Set([hash, ...others.map(contentHash)]).size).toBe(others.length + 1);
});

describe('the versions of the collation', () => {
  const versions = { icu_version: '1.2', unicode_version: '3.4' };
  const dated = makeManifest({ ...content, ...versions }, 7, [], NOW);

  test('are kept but not part of the hash, so that older manifests stay readable', () => {
    expect(parseManifest(encodeManifest(dated))).toEqual({ ...manifest, ...versions });
    expect(dated.id).toBe(manifest.id);
    expect(encodeManifest(manifest)).not.toContain('icu_version');
  });

  test('are compared with those of this Node if the manifest has them', () => {
    const { icu, unicode } = process.versions;
    const own = { icu_version: icu as string, unicode_version: unicode as string };
    expect(COLLATION_VERSIONS).toEqual(own);
    expect(findOtherCollation(manifest)).toBeUndefined();
    expect(findOtherCollation({ ...content, ...own })).toBeUndefined();
    for (const other of [versions, { ...own, icu_version: '1.2' }, { unicode_version: '3.4' }]) {
      expect(findOtherCollation({ ...content, ...other })).toContain(`this Node has ICU ${icu}`);
    }
  });

  test.each(Object.keys(versions))('%s is refused if it is not a string', (name) => {
    for (const value of [null, 1, true, {}, []]) {
      expectRefused(JSON.stringify({ ...manifest, [name]: value }), `"${name}" is `);
    }
  });
});

describe('a manifest is refused', () => {
  test('that is cut short, at any length, or is not an object', () => {
    const text = encodeManifest(manifest).trimEnd();
    for (let end = 0; end < text.length; end++) {
      expectRefused(text.slice(0, end), 'it is not JSON.');
    }
    // The log shows the cause, with the position of the fault in the JSON.
    const cause = expect.any(SyntaxError);
    expect(() => parseManifest('{')).toThrow(expect.objectContaining({ cause }));
    for (const other of ['null', '[]', '1', '"x"']) expectRefused(other, 'it is not an object.');
  });

  const own = layout.FORMAT_VERSION;
  test.each([own - 1, own + 1, 0, String(own), null, undefined])(
    'of format version %j, naming both',
    (version) => {
      const other = JSON.stringify({ ...manifest, format_version: version });
      expect(() => parseManifest(other)).toThrow(
        `manifest.json has format version ${JSON.stringify(version)}; this program reads version ${layout.FORMAT_VERSION}. ` +
          'Generate again with this program, or serve with the one that wrote it.',
      );
    },
  );

  test.each(
    Object.keys(JSON.parse(encodeManifest(manifest))).filter((name) => name !== 'format_version'),
  )('without %s, or with one of another type', (name) => {
    for (const value of [undefined, true, -1, 1.5, [1], {}]) {
      expectRefused(JSON.stringify({ ...manifest, [name]: value }), `"${name}`);
    }
  });

  test('with a wrong count or setting', () => {
    for (const group of ['counts', 'settings'] as const) {
      for (const name of Object.keys(manifest[group])) {
        for (const value of [-1, 0.5, null, undefined, {}, group === 'counts' ? '1' : 1]) {
          const text = change({ [group]: { ...manifest[group], [name]: value } });
          expectRefused(text, `"${group}" is {`);
        }
      }
    }
  });

  test('whose id does not fit its content', () => {
    expectRefused(JSON.stringify({ ...manifest, sequence: 8 }), '"id" does not fit the content');
    const counts = { ...manifest.counts, games: 3 };
    expectRefused(JSON.stringify({ ...manifest, counts }), '"id" does not fit the content');
    expect(parseManifest(change({ sequence: 8, counts })).counts).toEqual(counts);
    for (const id of ['', '../x', manifest.id.slice(1), `${manifest.id}0`, [manifest.id]]) {
      expectRefused(JSON.stringify({ ...manifest, id }), '"id" is ');
    }
    const fixed = [layout.PLATFORMS, layout.STATS];
    expectRefused(
      change({ files: manifest.files.filter(({ path }) => !fixed.includes(path)) }),
      '"files" does not hold platforms.json, stats.json.',
    );
  });

  const file = { path: 'games/nes.json', size: 1, sha256, changed_at: '2026-11-27T12:00:00Z' };
  test.each([
    ...['', '.', '..', '../x', '/etc/passwd', 'games/../../x', 'games/', 'games//x'],
    ...['games/.x', 'games\\x', 'games/x\n', 'games/x\0', 'games/a/b', './x'],
    ...['%2e%2e/x', 'index/..', 'é', 'C:x', 'report.json', 'index/x.bin'],
    ...['games/x.jsonl', 'x/y', 'x y', null, 1, ['a'], `games/${'a'.repeat(192)}.json`],
  ])('that names the file %j', (path) => {
    const text = change({ files: [...manifest.files, { ...file, path }] });
    expectRefused(text, '"files" is [');
  });

  test('that lists a file twice, or something that is not a file', () => {
    const twice = manifest.files[3];
    expectRefused(change({ files: [...manifest.files, twice] }), '"files" holds a path twice');
    const hashes = [sha256.slice(1), `x${sha256}`, `${sha256}0`, sha256.toUpperCase(), null, 1];
    const sizes = [-1, '1', 0.5].map((size) => ({ size }));
    const times = [null, 5, 'yesterday'].map((changed_at) => ({ changed_at }));
    for (const wrong of [...sizes, ...times, ...hashes.map((other) => ({ sha256: other }))]) {
      const text = change({ files: [...manifest.files, { ...file, ...wrong }] });
      expectRefused(text, '"files" is [');
    }
    expectRefused(JSON.stringify({ ...manifest, files: [null] }), '"files" is [null]');
    expect(parseManifest(change({ files: [...manifest.files, file] })).files).toContainEqual(file);
  });
});
