/**
 * How good the answers of a search engine are over judged queries. An engine is a function from a
 * query to the games that it found, the best first; only the first ten are looked at.
 */
import type { JudgedQuery } from './judged-queries.ts';

/** @returns `<platform slug>/<game slug>` of the games, the best first */
export type Find = (q: string) => readonly string[] | Promise<readonly string[]>;

export interface Quality {
  readonly queries: number;
  /** The share of queries with a wanted game among the first five, from 0 to 1. */
  readonly successAt5: number;
  /** The mean of 1 ÷ the position of the first wanted game; 0 if it is not among the first ten. */
  readonly reciprocalRank: number;
}

/** A judged query with its answer. */
export interface Judgement {
  readonly query: JudgedQuery;
  /** The position of the first wanted game, from 1 on; undefined if it is not among the first ten. */
  readonly position: number | undefined;
}

export const LOOKED_AT = 10;
const SUCCESS = 5;

/** Asks the engine each query, one after another. */
export async function judge(queries: readonly JudgedQuery[], find: Find): Promise<Judgement[]> {
  const judgements: Judgement[] = [];
  for (const query of queries) {
    const found = (await find(query.q)).slice(0, LOOKED_AT);
    const index = found.findIndex((game) => query.wanted.includes(game));
    judgements.push({ query, position: index < 0 ? undefined : index + 1 });
  }
  return judgements;
}

export function qualityOf(judgements: readonly Judgement[]): Quality {
  let successes = 0;
  let reciprocals = 0;
  for (const { position } of judgements) {
    if (position === undefined) continue;
    if (position <= SUCCESS) successes++;
    reciprocals += 1 / position;
  }
  const queries = judgements.length;
  return { queries, successAt5: successes / queries, reciprocalRank: reciprocals / queries };
}

/** The quality of each kind, in the order of the first query of each. */
export function qualityByKind(judgements: readonly Judgement[]): Map<string, Quality> {
  const groups = Map.groupBy(judgements, ({ query }) => query.kind);
  return new Map([...groups].map(([kind, ofKind]) => [kind, qualityOf(ofKind)]));
}
