/**
 * The thread that runs `mail-loops.ts`, apart from the one that serves pages: the time until an answer
 * must not show whether an address has an account. SQLite works synchronously, and would hold up
 * every request of its thread.
 */
import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { openDatabase } from '../../../database/open.ts';
import { makeLog } from '../../../program/log.ts';
import { makeMailer } from '../../mail/mailer.ts';
import { startMailLoops } from './mail-loops.ts';
import type { FromMailThread, MailThreadData, ToMailThread } from './start-mail-worker.ts';

const main = parentPort as MessagePort;
const say = (message: FromMailThread) => main.postMessage(message);
const { databaseUrl, mail, publicUrl, logLevel, waiting } = workerData as MailThreadData;

const mailer = makeMailer(mail);
const database = await openDatabase(databaseUrl);
const loops = startMailLoops({
  database,
  mailer,
  publicUrl,
  log: makeLog(logLevel),
  onRequestDone: () => Atomics.sub(waiting, 0, 1),
});

main.on('message', async (message: ToMailThread) => {
  if (message !== 'stop') return loops.requestLink(message.email);
  await loops.stop();
  await database.close();
  main.close();
});
say('ready');
