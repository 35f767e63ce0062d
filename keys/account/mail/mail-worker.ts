/**
 * The worker thread that runs `mail-loops.ts`. It is not the thread that serves pages, because SQLite
 * blocks its thread: looking up an address would delay responses, and the delay would show whether the
 * address belongs to an account.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../../database/open.ts';
import { makeLog } from '../../../program/log.ts';
import { makeMailer } from '../../mail/mailer.ts';
import { startMailLoops } from './mail-loops.ts';
import {
  FAILED,
  type FromMailWorker,
  type MailWorkerData,
  SENT,
  type ToMailWorker,
} from './mail-messages.ts';

if (parentPort === null) throw new Error('mail-worker.ts can only run as a worker thread.');
const main = parentPort;
const send = (message: FromMailWorker) => main.postMessage(message);
const { databaseUrl, mail, logLevel, waiting, attempts, ...rest }: MailWorkerData = workerData;

const mailer = makeMailer(mail);
const database = await openDatabase(databaseUrl);
const loops = startMailLoops({
  database,
  mailer,
  publicUrl: rest.publicUrl,
  log: makeLog(logLevel),
  onRequestDone: () => Atomics.sub(waiting, 0, 1),
  onRound({ sent, failed }) {
    Atomics.add(attempts, SENT, sent);
    Atomics.add(attempts, FAILED, failed);
  },
});

main.on('message', async (message: ToMailWorker) => {
  if (message !== 'stop') return loops.requestLink(message.email);
  await loops.stop();
  await database.close();
  main.close();
});
send('ready');
