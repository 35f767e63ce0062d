/** Measures all candidates in turn. One that fails is reported, and the others go on. */
import type { PartOptions } from '../part.ts';
import type { Measurement } from './load.ts';
import type { ServerName } from './servers.ts';
import type { Work } from './works.ts';

const WARM_UP_SECONDS = 1;

/** One candidate with one kind of request. */
export interface Run {
  readonly work: Pick<Work, 'id' | 'title' | 'status'>;
  readonly name: ServerName;
  readonly measureFor: (seconds: number) => Promise<Measurement>;
  /** @throws Error if the candidate does not answer the request as it should */
  readonly check: () => Promise<void>;
  /** One for each round; undefined if it failed. */
  readonly found: (Measurement | undefined)[];
}

/** @returns what failed, as a Markdown list */
export async function measureInTurn(
  runs: readonly Run[],
  { rounds, seconds, report }: PartOptions,
): Promise<string[]> {
  const faults: string[] = [];
  const attempt = async (run: Run, when: string, lasting: number) => {
    const { work, name } = run;
    const fail = (text: string) => {
      const fault = `${when}: ${work.title}, ${name}: ${text}`;
      report(fault);
      faults.push(`- ${fault}`);
      return undefined;
    };
    try {
      const measurement = await run.measureFor(lasting);
      const { cpu, perSecond, refused, requests } = measurement;
      if (refused !== (work.status >= 400 ? requests : 0)) {
        return fail(`refused ${refused} of ${requests} requests`);
      }
      await run.check();
      report(`${when}: ${work.title}, ${name}: ${cpu.toFixed(1)} µs, ${Math.round(perSecond)}/s`);
      return measurement;
    } catch (error) {
      return fail((error as Error).message);
    }
  };
  for (const run of runs) await attempt(run, 'warm-up', WARM_UP_SECONDS);
  for (let round = 1; round <= rounds; round++) {
    for (const run of runs) run.found.push(await attempt(run, `round ${round}`, seconds));
  }
  return faults;
}
