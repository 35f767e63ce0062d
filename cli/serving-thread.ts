/** The program of a serving thread of `cover-catalogue proxy` that is not its first thread: the proxy with its site. */
import { workerData } from 'node:worker_threads';
import { serveInWorker, type ThreadStart } from '../proxy/serve/workers/serving-thread.ts';
import { makeSite, type SiteData } from '../site/site.ts';

/** What the thread is started with. */
export interface ServingThreadData {
  readonly start: ThreadStart;
  readonly site: SiteData;
}

const { start, site }: ServingThreadData = workerData;
serveInWorker(start, (parts) => makeSite(site, parts));
