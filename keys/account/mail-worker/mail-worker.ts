/**
 * The worker thread that runs `mail-loops.ts`. It is not the thread that serves pages, because SQLite
 * blocks its thread: looking up an address would delay responses, and the delay would show whether the
 * address belongs to an account.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../../lib/database/open.ts';
import { makeCalls } from '../../../lib/program/calls.ts';
import { makeLog } from '../../../lib/program/log.ts';
import { makeMailer } from '../../mail/mailer.ts';
import { startMailLoops } from './mail-loops.ts';
import type { MailThread, MailWorkerData, PageThread } from './start-mail-worker.ts';

if (parentPort === null) throw new Error('mail-worker.ts can only run as a worker thread.');
const { databaseUrl, mail, logLevel, publicUrl }: MailWorkerData = workerData;

const mailer = makeMailer(mail);
const database = await openDatabase(databaseUrl);
const loops = startMailLoops({
  database,
  mailer,
  publicUrl,
  log: makeLog(logLevel),
  onProgress: (progress) => void call('noteProgress', progress),
});
const functions: MailThread = {
  begin() {},
  requestLink: loops.requestLink,
  async finish() {
    await loops.stop();
    await database.close();
  },
};
const call = makeCalls<PageThread>(parentPort, functions);
