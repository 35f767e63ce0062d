/**
 * The serving part, about one process with a large catalogue: the delay while a new generation is
 * opened, and the gain of a second serving thread.
 */
import { parseArgs } from 'node:util';
import { chooseCores } from './http/process.ts';
import { inNewFolder, type PartOptions } from './part.ts';
import { CONNECTIONS, measureOpenings, REQUESTS_PER_SECOND, TAIL_MS } from './serving/opening.ts';
import { type Prepared, prepare } from './serving/prepare.ts';
import { goalTable, openingTables, threadTables } from './serving/tables.ts';
import { measureThreads, THREADS, WRK_CONNECTIONS } from './serving/threads.ts';

export interface ServingOptions extends PartOptions {
  readonly games?: number;
  /** The folder in which generations are kept for another run; by default a temporary folder. */
  readonly folder?: string;
}

const GAMES = 1_000_000;

/** @returns Markdown, ratios first; headings from "###" on */
export async function run(options: ServingOptions): Promise<string> {
  const { rounds, seconds, report, games = GAMES } = options;
  const { server, load } = chooseCores();
  const cores = [server, load];
  return inNewFolder(async (folder) => {
    const prepared = await prepare(options.folder ?? folder, games, report);
    const threads = await measureThreads(prepared, folder, cores, rounds, seconds, report);
    const openings = [];
    for (const count of THREADS) {
      report(`opening generations, ${count} threads`);
      openings.push(await measureOpenings(prepared, folder, cores, count, rounds, report));
    }
    return `${describeCatalogue(prepared)}. Medians of ${rounds} rounds. Every process may use the same two cores.

### Ratios and goals

${goalTable(openings, threads)}

### Two threads on one port

wrk uses ${WRK_CONNECTIONS} kept-alive connections for ${seconds} s, one thread and two threads in turn. It runs on the same two cores, so requests per second do not show what two cores can do. The gain is therefore calculated from CPU time: twice the CPU time per request of one thread ÷ that of two threads. It counts the whole process, including garbage collection and the overhead between threads. The table shows the shares of the busiest and the next thread in the CPU time of the process.

${threadTables(threads)}

### Opening a generation while serving

${REQUESTS_PER_SECOND} requests per second are due at a fixed rate, whether or not earlier ones have been answered, on ${CONNECTIONS} connections: one cached game, different games, pages of 50, searches. Each delay counts from when the request was due. At the same moments the same process sends requests to a server that only returns a fixed body (the control): a delay of both was caused by the machine. The window of an opening lasts from the switch of \`current\` until the last response from the old generation, and ${TAIL_MS / 1000} s more; the window before it is equally long. One game in a hundred differs between the two. The proxy keeps the old generation for another minute, then closes it.

${openings.map(openingTables).join('\n\n')}`;
  });
}

function describeCatalogue({ counts, bytes }: Prepared): string {
  const { games, covers, cover_files } = counts;
  return `Generations of a seeded catalogue: ${games} games, ${covers} covers, ${cover_files} files, ${Math.round(bytes / 1e6)} MB on disk each`;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: {
      rounds: { type: 'string', default: '3' },
      seconds: { type: 'string', default: '4' },
      games: { type: 'string', default: String(GAMES) },
      folder: { type: 'string' },
    },
  });
  const { folder } = values;
  const markdown = await run({
    rounds: Number(values.rounds),
    seconds: Number(values.seconds),
    games: Number(values.games),
    ...(folder === undefined ? {} : { folder }),
    report: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${markdown}\n`);
}
