/**
 * The HTTP part: compares the product with its alternatives. Each runs on one core, with wrk on
 * another, and they get the same requests in turn. The main figure is processor time per request;
 * the tables also show requests per second.
 */

import { measureInTurn, type Run } from './http/in-turn.ts';
import { type Load, type Measurement, measure } from './http/load.ts';
import { cachedFiles } from './http/nginx.ts';
import { copyBodies, type Prepared, prepare } from './http/prepare.ts';
import { type Cores, chooseCores } from './http/process.ts';
import { type Server, type ServerName, startAlternatives, startProduct } from './http/servers.ts';
import { ratioTable, workTables } from './http/tables.ts';
import { checkStatus, makeTask, sendRequest, type Task, type Work, worksOf } from './http/works.ts';
import { inNewFolder, type PartOptions } from './part.ts';

export async function run({ rounds, seconds, report }: PartOptions): Promise<string> {
  const cores = chooseCores();
  return inNewFolder(async (folder, atEnd) => {
    const prepared = await prepare(folder, report);
    atEnd(prepared.mariaDb.stop);
    const product = await startProduct(prepared, folder, cores.server);
    atEnd(product.stop);
    await copyBodies(prepared, async (target, coding) => {
      const headers = { 'X-Api-Key': prepared.key, 'Accept-Encoding': coding };
      return (await sendRequest({ url: product.url + target, headers })).bytes;
    });
    report('starting the alternatives');
    const alternatives = await startAlternatives(prepared, folder, cores.server);
    atEnd(alternatives.stop);
    const productServer: Server = { url: product.url, pids: [product.pid] };
    const serverOf = (name: ServerName) =>
      name === 'product' ? productServer : alternatives.get(name);

    const works = worksOf(prepared);
    const runs: Run[] = [];
    for (const work of works) {
      for (const name of work.servers) {
        const server = serverOf(name);
        const task = await makeTask(work, name, server, productServer, prepared.key);
        const measureFor = makeMeasure(work, task, server, cores);
        runs.push({
          work,
          name,
          measureFor,
          check: () => checkStatus(work, name, task),
          found: [],
        });
      }
    }
    const faults = await measureInTurn(runs, { rounds, seconds, report });
    const measurements = new Map(
      works.map(({ id }) => [
        id,
        new Map(runs.filter(({ work }) => work.id === id).map(({ name, found }) => [name, found])),
      ]),
    );
    const sizes = await describeSizes(prepared, product.url);
    return `${rounds} rounds of ${seconds} s each, in turn, after a warm-up. ${capital(prepared.description)}; ${sizes}. Servers on one core, wrk on another with ${works[0]?.connections} kept-alive connections (${works.at(-1)?.connections} for searches). CPU is user and system time per request of all processes of a server: nginx and the checker, Node and MariaDB. nginx runs one worker without logs that keeps up to ${cachedFiles()} files open. "Others" is the share of the server's core that all other programs and interrupts used: if it is large, the figures are disturbed. Before the run, each server's responses were compared with the product's.

### Ratios

${ratioTable(measurements)}${faults.length === 0 ? '' : `\n\nThese measurements failed, and are not in the figures:\n\n${faults.join('\n')}`}

### Figures

${workTables(works, measurements)}`;
  });
}

/** Each measurement continues the list of addresses, so that no address is repeated too soon. */
function makeMeasure(work: Work, { url, headers }: Task, { pids }: Server, cores: Cores) {
  let start = 0;
  return async (seconds: number): Promise<Measurement> => {
    const list = work.list && { file: work.list.file, start };
    const { connections } = work;
    const load: Load = {
      url,
      headers,
      list,
      connections,
      seconds,
      core: cores.load,
      serverCore: cores.server,
    };
    const measurement = await measure(load, pids);
    start += measurement.requests;
    return measurement;
  };
}

async function describeSizes({ key, ...prepared }: Prepared, url: string): Promise<string> {
  const sizeOf = async (target: string, coding: string) => {
    const headers = { 'X-Api-Key': key, 'Accept-Encoding': coding };
    return (await sendRequest({ url: url + target, headers })).bytes.length;
  };
  const { game, page, longPage, recent } = prepared;
  const sizes = [`one game has ${await sizeOf(game, 'identity')} bytes`];
  for (const [name, target] of [
    ['the page', page],
    ['the long page', longPage],
    ['`/covers/recent`', recent],
  ] as const) {
    const [plain, gzip] = [await sizeOf(target, 'identity'), await sizeOf(target, 'gzip')];
    sizes.push(`${name} ${plain} (${gzip} as gzip)`);
  }
  return sizes.join(', ');
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
