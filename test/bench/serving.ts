/**
 * The part about one process that serves a large catalogue: what its clients notice of a new
 * generation being opened, what a second serving thread is worth, and what clients cost that name
 * every kept generation in turn.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { chooseCores } from './http/process.ts';
import type { PartOptions } from './part.ts';
import { CLIENTS, measureByName, STEADY_PER_SECOND } from './serving/by-name.ts';
import { CONNECTIONS, measureOpenings, REQUESTS_PER_SECOND, TAIL_MS } from './serving/opening.ts';
import { type Prepared, prepare } from './serving/prepare.ts';
import { byNameTable, goalTable, openingTables, threadTables } from './serving/tables.ts';
import { measureThreads, THREADS, WRK_CONNECTIONS } from './serving/threads.ts';

export interface ServingOptions extends PartOptions {
  readonly games?: number;
  /** Where the generations are kept for another run; a temporary folder otherwise. */
  readonly folder?: string;
}

const GAMES = 1_000_000;
/** As many as the generator keeps. */
const GENERATIONS = 5;
const BY_NAME_SECONDS = 120;

/** @returns Markdown, ratios first; headings from "###" on */
export async function run(options: ServingOptions): Promise<string> {
  const { rounds, seconds, say, games = GAMES } = options;
  const { server, load } = chooseCores();
  const cores = [server, load];
  const folder = mkdtempSync(path.join(tmpdir(), 'cover-catalogue-bench-'));
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  process.once('exit', remove);
  try {
    const prepared = await prepare(options.folder ?? folder, games, say, GENERATIONS);
    const threads = await measureThreads(prepared, folder, cores, rounds, seconds, say);
    const openings = [];
    for (const count of THREADS) {
      say(`opening generations, ${count} threads`);
      openings.push(await measureOpenings(prepared, folder, cores, count, rounds, say));
    }
    const byName = [];
    for (const count of THREADS) {
      say(`naming generations, ${count} threads`);
      byName.push(await measureByName(prepared, folder, cores, count, BY_NAME_SECONDS, say));
    }
    return `${describeCatalogue(prepared)}. Medians of ${rounds} rounds. Every process may use the same two cores.

### Ratios and goals

${goalTable(openings, threads, byName)}

### Two threads on one port

wrk asks with ${WRK_CONNECTIONS} kept-alive connections for ${seconds} s, one thread and two in turns. It takes its part of the same two cores, so that requests per second cannot show what two cores can do: that is two cores' time divided by what a request takes, beside one core's time divided by what a request takes with one thread, thus twice the processor time per request of one thread ÷ that of two. It counts all of the process, the collection of garbage and what the threads cost each other included. Of the processor time of the process, the busiest and the next thread had the shares shown.

${threadTables(threads)}

### Opening a generation while serving

${REQUESTS_PER_SECOND} requests a second fall due at a fixed rate, whether or not earlier ones were answered, on ${CONNECTIONS} connections: one hot game, different games, pages of 50, searches. Each delay counts from when the request was due. The same process asks a server that only sends a fixed body (the control) at the same moments: what delays both was the machine. The window of an opening reaches from the switch of \`current\` until no answer comes from the old generation, and ${TAIL_MS / 1000} s more; the one before is as long. One game in a hundred differs between the two. The proxy holds the old generation for another minute, then lets it go.

${openings.map(openingTables).join('\n\n')}

### Naming every kept generation in turn

${CLIENTS} clients ask for the ${GENERATIONS} kept generations in turn, all for the same one, by \`X-Snapshot\`, as fast as they are answered, while ${STEADY_PER_SECOND} requests a second that name none fall due and another generation is published every 20 s. Both share two cores with the clients.

${byNameTable(byName)}`;
  } finally {
    remove();
  }
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
    say: (text) => process.stderr.write(`${text}\n`),
  });
  process.stdout.write(`${markdown}\n`);
}
