/** The API of another installation as a depot: `cover-catalogue replica --from …/api/v1/snapshot`. */
import { beforeEach, expect, test } from 'vitest';
import { currentId, idsOnDisk } from '#lib/generations/generations.ts';
import { readReplicaState } from '#lib/generations/state-files.ts';
import { plainCatalogue } from '#test/catalogue/plain.ts';
import {
  filesOf,
  inodesOf,
  makePatientClock,
  pullFromApi,
  startApi,
} from '#test/support/replicas.ts';
import { expectNoDebris, newSnapshots } from '#test/support/wholeness.ts';

const api = await startApi(plainCatalogue(20));
beforeEach(() => {
  api.faulty.change = (reply) => reply;
  api.faulty.requests.length = 0;
});

const pathsOf = () => api.faulty.requests.map(({ path }) => path);

test('a replica has the same files, fetches only what changed, and never shows the key', async () => {
  const to = newSnapshots();
  const first = await pullFromApi(api, to);
  const id = currentId(api.snapshotsDir) as string;
  expect(first.stdout).toMatch(`Published ${id}: `);
  expect(filesOf(to, id)).toEqual(filesOf(api.snapshotsDir, id));
  expectNoDebris(to);
  const inodes = inodesOf(to, id);
  api.faulty.requests.length = 0;
  const second = await pullFromApi(api, to);
  expect(second).toMatchObject({
    code: 0,
    stdout: `Nothing is newer than ${id}, which stays current.\n`,
  });
  expect(pathsOf()).toEqual(['/api/v1/snapshot']);
  const next = await api.publish();
  await pullFromApi(api, to);
  const linked = [...inodesOf(to, next)].filter(([name, inode]) => inodes.get(name) === inode);
  expect(linked.length).toBeGreaterThan(3);
  expect([first, second].map(({ stderr }) => stderr).join()).not.toContain(api.key);
  for (const content of filesOf(to, next).values()) expect(content.includes(api.key)).toBe(false);
});

test('waits as long as a reply with 429 or 503 asks', async () => {
  const clock = makePatientClock();
  let refusals = 0;
  api.faulty.change = (reply) => {
    if (++refusals > 3) return reply;
    const status = refusals === 1 ? 503 : 429;
    return { status, headers: { 'retry-after': String(6 + refusals) }, body: Buffer.from('{}') };
  };
  expect(await pullFromApi(api, newSnapshots(), clock)).toMatchObject({ code: 0 });
  expect(clock.pauses.toSorted()).toEqual([7_000, 8_000, 9_000]);
});

test('a generation that is replaced during a pull is followed by the newer one', async () => {
  const to = newSnapshots();
  let publishing: Promise<string> | undefined;
  api.faulty.change = async (reply, { path }) => {
    if (path.includes('/files/')) {
      publishing ??= api.publish();
      await publishing;
    }
    return reply;
  };
  const { code, stdout, stderr } = await pullFromApi(api, to);
  expect(code, stderr).toBe(0);
  expect(stdout).toMatch(`Published ${await publishing}`);
  expect(idsOnDisk(to)).toEqual([await publishing]);
});

test('an API that refuses the key or does not offer downloads is an error that says so', async () => {
  const to = newSnapshots();
  for (const status of [401, 404]) {
    api.faulty.change = (reply) => ({ ...reply, status });
    const { code, stderr } = await pullFromApi(api, to);
    expect([code, currentId(to)]).toEqual([1, undefined]);
    expect(stderr).toMatch(`answers ${status}`);
    expect(readReplicaState(to)?.snapshot.error).toMatch(`answers ${status}`);
  }
});
