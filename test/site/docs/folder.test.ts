/**
 * Runs the programs of the guide "Covers for a folder of games" as they are shown: in a POSIX shell with jq, in Node
 * and in Python, each on a folder of 30 files, with the sample catalogue and a server of its images.
 */
import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { guideText } from '#site/docs/docs.ts';
import { startExplorer } from '#test/site/explore/explored.ts';
import { makeFolder, testKey } from '#test/support/product.ts';

const key = testKey(1);
/** As collections write them: the games of the sample, each as a few kinds of names, and some others. */
const FILES = [
  ...['ActRaiser (USA).sfc', 'Chrono Trigger (USA).sfc', 'chrono_trigger_(j).smc'],
  ...['Super Mario World (Europe) (Rev 1).zip', 'EarthBound [!].zip', 'Super Metroid (W) [!].7z'],
  ...["Donkey Kong Country 2 - Diddy's Kong Quest (USA).sfc", 'F-ZERO (Japan).sfc'],
  ...['Legend of Zelda, The - A Link to the Past (Germany).sfc', 'Mega Man X (USA).bs'],
  ...['Final Fantasy VI (Japan) (Beta).sfc', 'final fantasy 6.smc', 'クロノ・トリガー (Japan).sfc'],
  ...Array.from({ length: 17 }, (_, i) => `Nobody Knows This Game ${i} (Disc 1).bin`),
];

const { proxy } = await startExplorer([key], '');

test.each([
  ['sh', 'sh', 'sh'],
  ['js', process.execPath, 'mjs'],
  ['python', 'python3', 'py'],
])(
  'the program in %s saves the front of each game that it finds',
  async (language, command, extension) => {
    expect(FILES).toHaveLength(30);
    const folder = makeFolder();
    FILES.forEach((name, i) => {
      const dir = path.join(folder, 'roms/snes', ['', 'more', 'more/still'][i % 3] ?? '');
      mkdirSync(dir, { recursive: true });
      writeFileSync(path.join(dir, name), '');
    });
    const facts = { api: `${proxy.url}/api/v1`, defaultLimit: 120 };
    const text = guideText('folder', facts).replaceAll('{{platform}}', 'snes');
    const [, program = ''] = new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\``, 'ms').exec(text) ?? [];
    expect(program.split('\n').length).toBeLessThanOrEqual(55);
    writeFileSync(path.join(folder, `program.${extension}`), program);
    const { PATH } = process.env;
    const env = { PATH, LANG: 'C.UTF-8', COVERS_API: facts.api, COVERS_KEY: key.key };
    const { stdout } = await promisify(execFile)(command, [`program.${extension}`], {
      cwd: folder,
      env,
    });
    const lines = stdout.trimEnd().split('\n');
    expect(lines).toHaveLength(30);
    expect(lines.at(-1)).toMatch(/^30\/30 /);
    expect(stdout).toMatch(/ Chrono Trigger \(USA\)\.sfc: exact, cover$/m);
    expect(stdout).toMatch(/ Nobody Knows This Game 3 \(Disc 1\)\.bin: no game$/m);
    const covers = path.join(folder, 'covers/snes');
    const saved = readdirSync(covers);
    expect(saved).toHaveLength(lines.filter((line) => line.endsWith(', cover')).length);
    expect(saved.length).toBeGreaterThan(8);
    const [ofChrono = ''] = saved.filter((name) => name.startsWith('Chrono Trigger (USA).'));
    expect(readFileSync(path.join(covers, ofChrono), 'utf8')).toMatch(/^<svg /);
  },
);
