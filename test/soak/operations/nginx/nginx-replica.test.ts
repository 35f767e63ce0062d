/** A replica whose origin is behind the real nginx: downloads over TLS and through nginx's buffers. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { currentId } from '#lib/generations/generations.ts';
import { seededCatalogue } from '#test/catalogue/seeded.ts';
import { finish, makeFolder, startProgram } from '#test/support/product.ts';
import { filesOf, startApi } from '#test/support/replicas.ts';
import { startNginx } from '#test/support/servers/nginx.ts';
import { expectCurrentVerifies, newSnapshots } from '#test/support/wholeness.ts';

const origin = await startApi(seededCatalogue({ games: 6_000, seed: 6 }));
const nginx = await startNginx(origin.proxy.port);
const authority = path.join(makeFolder(), 'authority.pem');
writeFileSync(authority, nginx.ca);

function runReplica(SNAPSHOTS_DIR: string, environment: Record<string, string>) {
  const from = `https://localhost:${nginx.httpsPort}/api/v1/snapshot`;
  const args = ['--once', '--from', from, '--key-file', origin.keyFile];
  const variables = { SNAPSHOTS_DIR, ...environment };
  return finish(startProgram('replica', args, variables));
}

test('a replica over TLS has the same files, and later those that changed', async () => {
  const to = newSnapshots();
  const trusting = { NODE_EXTRA_CA_CERTS: authority };
  for (const publish of [origin.settle, () => origin.publish()]) {
    const id = await publish();
    const { code, stderr } = await runReplica(to, trusting);
    expect(code, stderr).toBe(0);
    expect(await expectCurrentVerifies(to)).toBe(id);
    expect(filesOf(to, id)).toEqual(filesOf(origin.snapshotsDir, id));
  }
});

test('a certificate that is not trusted is refused with a message that says so', async () => {
  const to = newSnapshots();
  const { code, stderr } = await runReplica(to, {});
  expect(code).toBe(1);
  expect(stderr).toMatch(/no reply: self-signed certificate/);
  expect(currentId(to)).toBeUndefined();
});
