/** The program of the S3 server in `s3.ts`. Arguments: the folder of its objects, a port, a bucket. */
import { createRequire } from 'node:module';

/** What is used of s3rver, which has no types. */
interface S3rver {
  new (options: object): { run(): Promise<unknown> };
}

const Server = createRequire(import.meta.url)('@20minutes/s3rver') as S3rver;
const [directory, port, bucket] = process.argv.slice(2);
await new Server({
  ...{ address: '127.0.0.1', port: Number(port), silent: true, directory },
  configureBuckets: [{ name: bucket }],
}).run();
