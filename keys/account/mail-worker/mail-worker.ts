/**
 * The worker thread that runs `mail-loops.ts`. It is not the thread that serves pages, because SQLite
 * blocks its thread: looking up an address would delay responses, and the delay would show whether the
 * address belongs to an account.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../../lib/database/open.ts';
import { makeLog } from '../../../lib/program/log.ts';
import { makeMailer } from '../../mail/mailer.ts';
import { startMailLoops } from './mail-loops.ts';
import type { MailProgress, MailWorkerData, ToMailWorker } from './start-mail-worker.ts';

if (parentPort === null) throw new Error('mail-worker.ts can only run as a worker thread.');
const main = parentPort;
const { databaseUrl, mail, logLevel, publicUrl }: MailWorkerData = workerData;

const mailer = makeMailer(mail);
const database = await openDatabase(databaseUrl);
const loops = startMailLoops({
  database,
  mailer,
  publicUrl,
  log: makeLog(logLevel),
  onProgress: (progress) => main.postMessage(progress),
});

main.on('message', async (message: ToMailWorker) => {
  if (message !== 'stop') return loops.requestLink(message.email);
  await loops.stop();
  await database.close();
  main.close();
});
// It is ready.
main.postMessage({ links: 0, sent: 0, failed: 0 } satisfies MailProgress);
