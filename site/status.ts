/**
 * /status: how old the data is, when it was last published, and whether there is maintenance, as a page and as
 * JSON. All of it comes from files, so it can be read while the database is gone. No key is needed.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { MAINTENANCE_FILE } from '../lib/format/layout.ts';
import { publishedAt } from '../lib/generations/history.ts';
import { readReplicaState } from '../lib/generations/state-files.ts';
import { html } from '../lib/pages/html.ts';
import { renderPage, type SiteFrame } from '../lib/pages/layout.ts';
import { countOf, factList, timeElement } from '../lib/pages/shown-values.ts';
import { JSON_TYPE } from '../proxy/http/response.ts';
import { readDataTime } from '../proxy/serve/admin/state.ts';
import type { CurrentGeneration } from '../proxy/snapshot/generation.ts';
import { HTML, makePage, uncachedPage } from './static/page-responses.ts';
import type { SiteAnswer } from './static/site-handler.ts';

interface StatusParts {
  readonly snapshotsDir: string;
  readonly current: CurrentGeneration;
  readonly frame: SiteFrame;
}

export function makeStatus(parts: StatusParts): SiteAnswer {
  return (path) => {
    const make = { '/status': asPage, '/status.json': asJson }[path];
    return make && readStatus(parts).then((status) => make(status, parts.frame));
  };
}

type Status = Awaited<ReturnType<typeof readStatus>>;

/** The members of /status.json. Times are RFC 3339 UTC; null stands for what is not known. */
async function readStatus({ snapshotsDir, current }: StatusParts) {
  const { id, manifest } = current() ?? {};
  const agreed = id && (await readDataTime(snapshotsDir, id, readReplicaState(snapshotsDir)));
  return {
    snapshot: id ?? null,
    /** When the snapshot last agreed with the database. */
    data_as_of: agreed ? new Date(agreed).toISOString() : null,
    data_age_seconds: agreed ? Math.max(0, Math.round((Date.now() - agreed) / 1000)) : null,
    published_at: manifest ? publishedAt(manifest) : null,
    maintenance: existsSync(path.join(snapshotsDir, MAINTENANCE_FILE)),
  };
}

function asJson(status: Status) {
  const headers = 'Access-Control-Allow-Origin: *\r\n';
  const text = JSON.stringify(status);
  return uncachedPage(200, makePage(JSON_TYPE, text, { cacheControl: 'no-store', headers }));
}

function asPage(status: Status, frame: SiteFrame) {
  const { snapshot, data_as_of, data_age_seconds: age, published_at, maintenance } = status;
  const working = snapshot === null ? 'The API has no data yet.' : 'The API is working.';
  const state = maintenance ? 'The API is under maintenance.' : working;
  const minutes = countOf(Math.floor((age ?? 0) / 60), 'minute');
  const page = renderPage({
    title: 'Status',
    path: '/status',
    ...frame,
    body: html`<h1>Status</h1>
      <p class="notice">${state}</p>
      ${factList([
        ['Data checked', data_as_of && html`${timeElement(new Date(data_as_of))}, ${minutes} ago`],
        ['Last published', published_at && timeElement(new Date(published_at))],
        ['Snapshot', snapshot && html`<code>${snapshot}</code>`],
      ])}
      <p class="faint">For programs: <a href="/status.json">status.json</a></p>`,
  });
  return uncachedPage(200, makePage(HTML, page.toString(), { cacheControl: 'no-store' }));
}
