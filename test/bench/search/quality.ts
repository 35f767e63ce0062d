/**
 * The quality of search: how the product and its alternatives answer the judged queries
 * (`test/proxy/search/judged/`), over the sample catalogue and, if it is there, the real one. Alone:
 *
 *     node test/bench/search/quality.ts [--catalogues sample,real] [--engines product,…] [--folder …]
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { sampleCatalogue } from '../../catalogue/sample.ts';
import { sharedCatalogue } from '../../catalogue/shared.ts';
import {
  type JudgedCatalogue,
  readJudgedQueries,
} from '../../proxy/search/judged/judged-queries.ts';
import { judge } from '../../proxy/search/judged/quality.ts';
import { prepareCatalogue, readDocuments } from './documents.ts';
import { JUDGED_ENGINE_IDS, JUDGED_ENGINES, type JudgedEngineId } from './quality/engines.ts';
import { describeQuality, type EngineResult } from './quality/tables.ts';

export interface QualityOptions {
  readonly report: (text: string) => void;
  readonly catalogues?: readonly JudgedCatalogue[];
  readonly engines?: readonly JudgedEngineId[];
  /** The folder in which catalogues are kept for another run; by default a temporary folder. */
  readonly folder?: string;
}

const CATALOGUES = { sample: sampleCatalogue, real: sharedCatalogue } as const;

/** @returns Markdown; headings from "###" on */
export async function measureQuality(options: QualityOptions): Promise<string> {
  const { report, catalogues = ['sample', 'real'], engines = JUDGED_ENGINE_IDS } = options;
  const root = options.folder ?? mkdtempSync(path.join(tmpdir(), 'cover-bench-'));
  const remove = () => {
    if (options.folder === undefined) rmSync(root, { recursive: true, force: true });
  };
  process.once('exit', remove);
  try {
    const sections: string[] = [];
    for (const name of catalogues) {
      const catalogue = CATALOGUES[name]();
      if (catalogue === undefined) {
        report(`quality: the ${name} catalogue is not on this machine`);
        continue;
      }
      const folder = path.join(root, name);
      mkdirSync(folder, { recursive: true });
      report(`quality, ${name}: generating …`);
      await prepareCatalogue(folder, () => catalogue);
      sections.push(await measureCatalogue(folder, name, engines, report));
    }
    const notes = engines.map((id) => `- ${JUDGED_ENGINES[id].name}: ${JUDGED_ENGINES[id].note}`);
    return [...sections, `### Quality: how each was set up\n\n${notes.join('\n')}`].join('\n\n');
  } finally {
    process.off('exit', remove);
    remove();
  }
}

async function measureCatalogue(
  folder: string,
  name: JudgedCatalogue,
  engines: readonly JudgedEngineId[],
  report: (text: string) => void,
): Promise<string> {
  const results = new Map<JudgedEngineId, EngineResult>();
  const leftOut = new Map<JudgedEngineId, string>();
  for (const id of engines) {
    report(`quality, ${name}: ${JUDGED_ENGINES[id].name} …`);
    try {
      results.set(id, await measureEngine(folder, name, id));
    } catch (error) {
      leftOut.set(id, (error as Error).message);
      report(`quality, ${name}: ${JUDGED_ENGINES[id].name} is left out: ${leftOut.get(id)}`);
    }
  }
  const games = [...readDocuments(folder)].length;
  return describeQuality(
    `${name} catalogue, ${games.toLocaleString('en')} games`,
    results,
    leftOut,
  );
}

async function measureEngine(
  folder: string,
  name: JudgedCatalogue,
  id: JudgedEngineId,
): Promise<EngineResult> {
  const [tuning, heldOut] = [
    readJudgedQueries(name, 'tuning'),
    readJudgedQueries(name, 'held-out'),
  ];
  const { find, close } = await JUDGED_ENGINES[id].open(folder);
  try {
    const started = performance.now();
    const judged = { tuning: await judge(tuning, find), heldOut: await judge(heldOut, find) };
    const time = (performance.now() - started) / (tuning.length + heldOut.length);
    return { ...judged, time };
  } finally {
    await close();
  }
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      catalogues: { type: 'string', default: Object.keys(CATALOGUES).join() },
      engines: { type: 'string', default: JUDGED_ENGINE_IDS.join() },
      folder: { type: 'string' },
    },
  });
  const { folder } = values;
  const markdown = await measureQuality({
    catalogues: values.catalogues.split(',') as JudgedCatalogue[],
    engines: values.engines.split(',') as JudgedEngineId[],
    ...(folder === undefined ? {} : { folder }),
    report: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${markdown}\n`);
}
