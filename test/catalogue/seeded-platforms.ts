/** The platforms of a seeded catalogue: a few with many games, many with few, one without games. */
import { makeRandom } from '../../demo/catalogue/random.ts';
import { slugOf } from '../../demo/catalogue/sample.ts';
import { nameOf } from './seeded-words.ts';

export interface SeededPlatform {
  readonly id: number;
  readonly slug: string;
  readonly name: string;
  /** The index of its first game among all games, and the number of its games. */
  readonly firstGame: number;
  readonly games: number;
}

const STREAM = 100;
const MODELS = [
  '',
  ' 64',
  ' II',
  ' Advance',
  ' Pocket',
  ' CD',
  '³',
  ' (Digital)',
  ' + Plus',
  ' Été',
];
const JAPANESE = ['ゲームキング', 'スーパードライブ', '電脳システム'];

/**
 * Distributes the games: the k-th largest platform has about 1/k as many as the largest one.
 * @param count 1 or more, unless there are no games
 */
export function makePlatforms(count: number, games: number, seed: number): SeededPlatform[] {
  const random = makeRandom();
  // With at least three platforms, one can be empty and one can have a single game.
  const special = count >= 3 && games > 0 ? 2 : 0;
  const regular = count - special;
  let weights = 0;
  for (let rank = 1; rank <= regular; rank++) weights += 1 / (rank + 1);
  const sizes: number[] = [];
  let left = games - (special > 0 ? 1 : 0);
  for (let rank = 1; rank <= regular; rank++) {
    const share = Math.floor((games * 1) / (rank + 1) / weights);
    const size = rank === regular ? left : Math.min(left, Math.max(share, 1));
    sizes.push(size);
    left -= size;
  }
  // The largest platform gets the remainder of the rounding.
  const last = sizes.pop() ?? 0;
  const kept = sizes.length === 0 ? last : Math.min(last, 1);
  if (sizes.length > 0) sizes[0] = sizes[0] + last - kept;
  sizes.push(kept);
  if (special > 0) sizes.push(1, 0);

  let firstGame = 0;
  return sizes.slice(0, count).map((size, index) => {
    random.start(seed, STREAM, index);
    const id = 3 + index * 7 + random.below(7);
    const made = nameOf(random.below(20_000)) + MODELS[random.below(MODELS.length)];
    const name = random.happens(0.08) ? `${random.pick(JAPANESE)} ${id}` : made;
    const platform = {
      id,
      slug: `${slugOf(name) || 'platform'}-${index}`,
      name,
      firstGame,
      games: size,
    };
    firstGame += size;
    return platform;
  });
}
