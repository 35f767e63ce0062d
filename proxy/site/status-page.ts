/**
 * /status: how fresh the catalogue is, and how the last run went. It reads small files of the snapshots
 * folder, at most once in a few seconds. It shows no error messages, which may contain the names of
 * machines.
 */

import type { RunStatus } from '../../format/status-file.ts';
import { readReplicaState, readStatus } from '../../generations/state-files.ts';
import { type Html, html } from '../../pages/html.ts';
import { renderPage } from '../../pages/layout.ts';
import { factList, shownNumber, timeElement } from '../../pages/shown-values.ts';
import { readDataTime } from '../admin/state.ts';
import type { Generation } from '../snapshot/generation.ts';

export interface StatusParts {
  readonly snapshotsDir: string;
  /** The generation that answers requests; undefined before the first one. */
  readonly current: () => Pick<Generation, 'id' | 'manifest'> | undefined;
  /** In its first cell, the seconds for `Retry-After` during maintenance, otherwise 0. */
  readonly maintenance: Int32Array;
}

/** How long a page is used again, in milliseconds. */
const KEPT_MS = 5_000;

/** For each outcome of a run: the kind of its mark, its name, and what it means. */
const OUTCOMES: Readonly<Record<RunStatus['outcome'], readonly [string, string, string]>> = {
  published: ['good', 'Published', 'It found changes and published them.'],
  unchanged: ['good', 'No changes', 'The catalogue had not changed.'],
  held: ['wait', 'Paused', 'The operator has paused updates. The API serves the last snapshot.'],
  refused: [
    'bad',
    'Refused',
    'Too much data was missing, so nothing was published. The API serves the last snapshot.',
  ],
  failed: ['bad', 'Failed', 'The API serves the last snapshot until a run succeeds.'],
};

/** @returns a function that makes the page, or returns the one that it made within the last {@link KEPT_MS} */
export function makeStatusPage(parts: StatusParts): () => Promise<Html> {
  let kept: { readonly at: number; readonly page: Promise<Html> } | undefined;
  return () => {
    const now = performance.now();
    if (kept === undefined || now - kept.at > KEPT_MS) {
      kept = { at: now, page: statusPage(parts) };
    }
    return kept.page;
  };
}

async function statusPage({ snapshotsDir, maintenance, ...parts }: StatusParts): Promise<Html> {
  const current = parts.current();
  const isPaused = (maintenance[0] ?? 0) > 0;
  const dataTime =
    current && (await readDataTime(snapshotsDir, current.id, readReplicaState(snapshotsDir)));
  const counts = current?.manifest.counts;
  const status = readStatus(snapshotsDir);
  return renderPage({
    title: 'Status',
    filesPath: '',
    path: '/status',
    body: html`<h1>Status</h1>
      <p class="lead">${
        current === undefined
          ? html`The API has just been set up and has no snapshot yet.`
          : html`${isPaused ? 'The API is under maintenance and answers no requests for now.' : 'The API is running.'} Its catalogue is as of ${moment(dataTime)}.`
      }</p>
      <div class="card">
        <h2>Now in service</h2>
        ${factList([
          ['Snapshot', current === undefined ? 'none yet' : html`<code>${current.id}</code>`],
          ['Platforms', counts && shownNumber(counts.platforms)],
          ['Games', counts && shownNumber(counts.games)],
          ['Covers', counts && shownNumber(counts.covers)],
        ])}
      </div>
      ${status !== undefined && lastRun(status)}`,
  });
}

function lastRun({ outcome, finished_at }: RunStatus): Html | undefined {
  // A file of a newer version may have an outcome that this one does not know.
  if (!Object.hasOwn(OUTCOMES, outcome)) return undefined;
  const [kind, name, text] = OUTCOMES[outcome];
  return html`<div class="card">
        <h2>Last run <span class="state ${kind}">${name}</span></h2>
        <p>A run ended ${moment(Date.parse(finished_at))}. ${text}</p>
      </div>`;
}

/** @param time in milliseconds of the wall clock */
function moment(time: number | undefined): Html {
  return time === undefined ? html`an unknown time` : timeElement(new Date(time));
}
