/**
 * An S3 server on loopback that checks signatures: s3rver, in a separate process. It keeps its objects
 * in a folder, and ends with the test file.
 */
import path from 'node:path';
import { atEndOfFile } from '#test/support/end-of-file.ts';
import { startTiedUntil } from '#test/support/processes.ts';
import { makeFolder } from '#test/support/product.ts';

export const BUCKET = 'catalogue';
const PROGRAM = path.join(import.meta.dirname, 's3-server.ts');

/** Starts a server with one bucket, {@link BUCKET}. */
export async function startS3() {
  const server = await startTiedUntil('listening on ', [
    process.execPath,
    // Its continuation tokens are encrypted with an algorithm that OpenSSL 3 has only with this flag.
    '--openssl-legacy-provider',
    ...[PROGRAM, makeFolder(), BUCKET],
  ]);
  atEndOfFile(server.stop);
  const port = Number(server.line.split(' ').at(-1));
  return {
    /** Variables with its address and the only credentials that it knows. */
    environment: {
      AWS_ACCESS_KEY_ID: 'S3RVER',
      AWS_SECRET_ACCESS_KEY: 'S3RVER',
      AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${port}`,
    },
    port,
  };
}
