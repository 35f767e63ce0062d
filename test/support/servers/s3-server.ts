/** The program of the S3 server in `s3.ts`. Arguments: the folder of its objects, a bucket. */
import { rename } from 'node:fs/promises';
import { createRequire } from 'node:module';

/** What is used of s3rver, which has no types. */
interface S3rver {
  new (
    options: object,
  ): {
    run(): Promise<{ readonly port: number }>;
    readonly store: { putContent(file: string, content: unknown): Promise<unknown> };
  };
}

const Server = createRequire(import.meta.url)('@20minutes/s3rver') as S3rver;
const [directory, bucket] = process.argv.slice(2);
const server = new Server({
  address: '127.0.0.1',
  port: 0,
  silent: true,
  directory,
  configureBuckets: [{ name: bucket }],
});

// S3 replaces an object in one step; s3rver writes over it, and its readers would see a part.
const { store } = server;
const putContent = store.putContent.bind(store);
let writes = 0;
store.putContent = async (file, content) => {
  const next = `${file}.${++writes}`;
  const result = await putContent(next, content);
  await rename(next, file);
  return result;
};
const { port } = await server.run();
process.stderr.write(`listening on ${port}\n`);
