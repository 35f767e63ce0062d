/** What an operator reads of an error, also if it comes from another thread. */
import { MessageChannel } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { makeCalls } from '#lib/program/calls.ts';
import { makeCommand, messageOf } from '#lib/program/failure.ts';

const thrownBy = (work: () => unknown): Error => {
  try {
    work();
  } catch (error) {
    return error as Error;
  }
  throw new Error('nothing was thrown');
};
const ofLanguage = thrownBy(() => JSON.parse('null').member);

test('a fault of the program says so once and where, also if a step wraps it', async () => {
  const wrapped = new Error(`read it: ${messageOf(ofLanguage)}`, { cause: ofLanguage });
  for (const error of [ofLanguage, wrapped, new Error('read it', { cause: ofLanguage })]) {
    let stderr = '';
    const write = (text: unknown) => {
      stderr += text;
      return true;
    };
    const streams = { stdout: { write }, stderr: { write } };
    const command = makeCommand(async (): Promise<number> => Promise.reject(error));
    expect(await command({ words: [], variables: () => ({}), ...streams })).toBe(1);
    expect(stderr).toMatch(/\(TypeError at .*failure\.test\.ts:\d+:\d+.*please report it\)\n$/);
    expect(stderr.match(/report it/g)).toHaveLength(1);
  }
});

test('what an operator can fix does not say so', () => {
  const network = new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') });
  const address = thrownBy(() => new URL('nonsense'));
  const texts = [network, address, new Error('no disk'), { code: 'EPIPE' }].map(messageOf);
  expect(texts).toEqual(['fetch failed', 'Invalid URL', 'no disk', 'EPIPE']);
});

test.each([
  [
    'an error with a cause that cannot be sent',
    new Error('no disk', { cause: () => {} }),
    'no disk',
  ],
  ['nothing', undefined, 'undefined'],
])('a call of another thread that throws %s fails with its text', async (_, thrown, text) => {
  const { port1, port2 } = new MessageChannel();
  makeCalls(port1, {
    fail() {
      throw thrown;
    },
  });
  const call = makeCalls<{ fail(): void }>(port2);
  await expect(call('fail')).rejects.toThrow(text);
  port1.close();
});
