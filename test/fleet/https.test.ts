/** A replica that pulls over https: which certificates it accepts. */
import path from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { currentId } from '../../store/generations/generations.ts';
import { makeFolder, runProgram } from '../support/product.ts';
import { makeCertificate } from '../support/servers/nginx.ts';
import { serveFolder } from '../support/servers/static-files.ts';
import { expectCurrentVerifies, newSnapshots } from '../support/wholeness.ts';
import { makeOrigin } from './make-replicas.ts';

const folder = makeFolder();
const tls = { certificate: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') };
const trusting = { NODE_EXTRA_CA_CERTS: tls.certificate };
const to = newSnapshots();
let origin: string;
let address: string;

beforeAll(async () => {
  origin = (await makeOrigin()).snapshotsDir;
  await makeCertificate('localhost', tls.certificate, tls.key);
  address = await serveFolder(origin, tls);
});

const pullFrom = (from: string, environment: Readonly<Record<string, string>>) =>
  runProgram('commands/replica.ts', ['--once', '--from', from, '--to', to], environment);

test('a certificate of an unknown authority is refused and named', async () => {
  const { code, stderr } = await pullFrom(address, {});
  expect(code).toBe(1);
  expect(stderr).toContain(`The certificate of ${new URL(address).host} is not accepted: self`);
  expect(stderr).toContain("name that authority's file in NODE_EXTRA_CA_CERTS");
  expect(currentId(to)).toBe(undefined);
});

test('a certificate of another host is refused and named', async () => {
  const { code, stderr } = await pullFrom(address.replace('localhost', '127.0.0.1'), trusting);
  expect(code).toBe(1);
  expect(stderr).toMatch(/The certificate of 127\.0\.0\.1:\d+ is not accepted: .*altnames/);
  expect(currentId(to)).toBe(undefined);
});

test('a certificate of an authority in NODE_EXTRA_CA_CERTS is accepted', async () => {
  const { code, stderr } = await pullFrom(address, trusting);
  expect(code, stderr).toBe(0);
  expect(await expectCurrentVerifies(to)).toBe(currentId(origin));
});
