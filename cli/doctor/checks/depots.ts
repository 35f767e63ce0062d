/** The depots: whether each can be reached, what it offers, and since when. */
import type { Depot } from '../../../depot/depot.ts';
import { isApiAddress, openDepot, openKeysDepot } from '../../../depot/open.ts';
import { readObject } from '../../../depot/transfers.ts';
import {
  LARGEST_RELEASE,
  parseRelease,
  RELEASES,
  type ReleaseKind,
} from '../../../lib/format/release.ts';
import { currentId } from '../../../lib/generations/generations.ts';
import { type Check, type CheckContext, type Findings, requireValue } from '../check.ts';

/** A transfer fails after this time without progress. */
const STALL_MS = 8_000;
/** Keys are released every few seconds. */
const OLDEST_KEYS_MS = 5 * 60_000;

export const depots: Check = {
  name: 'depots',
  programs: ['schedule', 'replica'],
  fix: 'Try the address with the tools of its kind, such as ls, aws s3 ls or curl, as the user of the program.',
  async run(context, findings) {
    const { programs, variables: environment } = context;
    const push = programs.includes('schedule') ? requireValue(context, 'SNAPSHOT_PUSH') : '';
    const from = programs.includes('replica') ? requireValue(context, 'REPLICA_FROM') : '';
    const options = { environment, stallMs: STALL_MS };
    const opened: [Depot, ReleaseKind][] = [push, from]
      .filter((address) => address !== '' && !isApiAddress(address))
      .map((address) => [openDepot(address, options), 'snapshot']);
    const ofKeys = requireValue(context, 'KEYS_DEPOT');
    const others = { SNAPSHOT_PUSH: push, REPLICA_FROM: from };
    const keys = openKeysDepot(ofKeys, others, options);
    if (keys !== undefined) opened.push([keys, 'keys']);
    if (opened.length === 0)
      findings.ok('No folder, bucket or web server is configured as a depot.');
    for (const [depot, kind] of opened) {
      await checkDepot(context, depot, kind, findings).finally(() => depot.close());
    }
  },
};

async function checkDepot(
  context: CheckContext,
  depot: Depot,
  kind: ReleaseKind,
  { ok, warn }: Findings,
): Promise<void> {
  const bytes = await readObject(depot, RELEASES[kind], LARGEST_RELEASE);
  const isKeys = kind === 'keys';
  const fix = `Run at the origin: ${isKeys ? 'systemctl restart cover-catalogue-schedule' : 'cover-catalogue push'}`;
  if (bytes === undefined) {
    warn(`${depot.name} has no ${RELEASES[kind]}: nothing was pushed there yet.`, fix);
    return;
  }
  const { id, released_at } = parseRelease(bytes, kind);
  const text = `${depot.name} has ${id}, released at ${released_at ?? 'an unknown time'}`;
  const current = currentId(requireValue(context, 'SNAPSHOTS_DIR'));
  const age = released_at === null ? 0 : Date.now() - Date.parse(released_at);
  if (isKeys ? age <= OLDEST_KEYS_MS : current === id) ok(`${text}.`);
  else if (isKeys) warn(`${text}, but keys are released every few seconds.`, fix);
  else warn(`${text}, but the current generation here is ${current ?? 'none'}.`, fix);
}
