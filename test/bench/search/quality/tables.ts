/** The tables of the quality of search. Of the held-out half they show only totals. */
import {
  type Judgement,
  type Quality,
  qualityByKind,
  qualityOf,
} from '../../../proxy/search/judged/quality.ts';
import { table } from '../../part.ts';
import { JUDGED_ENGINES, type JudgedEngineId } from './engines.ts';

/** The answers of one engine over one catalogue. */
export interface EngineResult {
  readonly tuning: readonly Judgement[];
  readonly heldOut: readonly Judgement[];
  /** Milliseconds per query, as the caller waits for it. */
  readonly time: number;
}

export type EngineResults = ReadonlyMap<JudgedEngineId, EngineResult>;

/** @param catalogue such as "sample catalogue (230 games)" */
export function describeQuality(
  catalogue: string,
  results: EngineResults,
  leftOut: ReadonlyMap<JudgedEngineId, string>,
): string {
  const { tuning = [], heldOut = [] } = results.values().next().value ?? {};
  return [
    `### Quality: ${catalogue}`,
    `Success at 5 / mean reciprocal rank over judged queries, ${tuning.length + heldOut.length} in total: ${tuning.length} for tuning and ${heldOut.length} held out.`,
    totalTable(results),
    'Success at 5 by kind of query, tuning half:',
    kindTable(results),
    ...[...leftOut].map(([id, why]) => `- ${JUDGED_ENGINES[id].name} is left out: ${why}`),
  ].join('\n\n');
}

function totalTable(results: EngineResults): string {
  const rows = [...results].map(([id, { tuning, heldOut, time }]) => [
    JUDGED_ENGINES[id].name,
    ...[[...tuning, ...heldOut], tuning, heldOut].map((half) => figures(qualityOf(half))),
    time < 10 ? time.toFixed(1) : time.toFixed(0),
  ]);
  return table(['engine', 'total', 'tuning', 'held out', 'ms per query'], rows);
}

function kindTable(results: EngineResults): string {
  const ids = [...results.keys()];
  const byEngine = [...results.values()].map(({ tuning }) => qualityByKind(tuning));
  const rows = [...(byEngine[0] ?? [])].map(([kind, { queries }]) => [
    `${kind} (${queries})`,
    ...byEngine.map((kinds) => percent((kinds.get(kind) as Quality).successAt5)),
  ]);
  return table(['kind (queries)', ...ids.map((id) => JUDGED_ENGINES[id].name)], rows);
}

function figures({ successAt5, reciprocalRank }: Quality): string {
  return `${percent(successAt5)} / ${reciprocalRank.toFixed(3)}`;
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
