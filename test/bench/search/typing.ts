/** Search as one types: every prefix of some titles in turn, over HTTP, in the order of relevance. */
import { Agent, get } from 'node:http';
import { makeRandom } from '../../catalogue/random.ts';
import { table } from '../part.ts';
import type { SearchDocument } from './documents.ts';
import { startProductOn } from './start-product.ts';

const TITLES = 20;
const ROUNDS = 3;
const LONGEST = 100;

/** @returns Markdown without a heading */
export async function measureTyping(
  folder: string,
  documents: readonly SearchDocument[],
): Promise<string> {
  const random = makeRandom(20);
  const titles = Array.from({ length: TITLES }, () => random.pick(documents).title);
  const { url, key, stop } = await startProductOn(folder);
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const times: number[] = [];
  try {
    for (let round = 0; round <= ROUNDS; round++) {
      for (const title of titles) {
        const letters = [...title].slice(0, LONGEST);
        for (let length = 1; length <= letters.length; length++) {
          // Without the round, a repeated request could be answered from the cache of responses.
          const q = encodeURIComponent(letters.slice(0, length).join(''));
          const page = `per_page=${20 + round}`;
          const took = await timeOf(
            `${url}/api/v1/search?q=${q}&sort=relevance&${page}`,
            key,
            agent,
          );
          if (round > 0) times.push(took);
        }
      }
    }
  } finally {
    agent.destroy();
    await stop();
  }
  times.sort((a, b) => a - b);
  const at = (share: number) => times[Math.min(times.length - 1, Math.floor(share * times.length))];
  const figures = [0.5, 0.99, 1].map((share) => at(share).toFixed(2));
  return table(
    ['as one types, over HTTP', 'requests', 'p50', 'p99', 'max'],
    [['milliseconds', String(times.length), ...figures]],
  );
}

/** @returns how many milliseconds a request took, until the end of its response */
function timeOf(url: string, key: string, agent: Agent): Promise<number> {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    get(url, { agent, headers: { 'X-Api-Key': key } }, (response) => {
      if (response.statusCode !== 200) reject(new Error(`${url} got ${response.statusCode}.`));
      response.resume().once('end', () => resolve(performance.now() - start));
    }).once('error', reject);
  });
}
