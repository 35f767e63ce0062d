/**
 * The servers that the installation uses over the network, if they are configured: Redis and depots.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Depot } from '../../depot/depot.ts';
import { isApiAddress, openDepot } from '../../depot/open.ts';
import { readRelease } from '../../depot/release.ts';
import { parseRelease } from '../../format/release.ts';
import { currentId } from '../../generations/generations.ts';
import { messageOf } from '../../program/failure.ts';
import { loadStoreClient } from '../../proxy/limits/shared/open-shared-limits.ts';
import { type Check, type Findings, requireValue, type Scene } from '../findings/check.ts';

const CONNECT_MS = 2_000;
const PAUSE_MS = 25;
const STALL_MS = 5_000;

export const limits: Check = {
  name: 'shared limits',
  programs: ['proxy'],
  async run(scene, { ok, warn, error }) {
    if ((scene.variables.LIMITS_URL?.trim() ?? '') === '') {
      ok('LIMITS_URL is not set: each proxy has limits of its own.');
      return;
    }
    const connect = await loadStoreClient(requireValue(scene, 'LIMITS_URL'));
    const connection = connect?.();
    try {
      const end = performance.now() + CONNECT_MS;
      while (connection?.server() === undefined && performance.now() < end) await sleep(PAUSE_MS);
      const fault = connection?.fault();
      if (connection?.server() === undefined) {
        error(
          `The server of LIMITS_URL cannot be used: ${fault}.`,
          'Start Redis or Valkey, or fix host, port and password in LIMITS_URL.',
        );
      } else if (fault !== undefined) {
        warn(
          `The server of LIMITS_URL: ${fault}.`,
          'Run: redis-cli CONFIG SET maxmemory-policy noeviction, and change its configuration file.',
        );
      } else ok('The server of LIMITS_URL answers.');
    } finally {
      connection?.close();
    }
  },
};

const DEPOTS = ['SNAPSHOT_PUSH', 'REPLICA_FROM', 'KEYS_DEPOT'] as const;

export const depots: Check = {
  name: 'depots',
  programs: ['schedule', 'replica'],
  async run(scene, findings) {
    const set = DEPOTS.filter((name) => requireValue(scene, name) !== '');
    if (set.length === 0) findings.ok('No depot is configured.');
    for (const name of set) await checkDepot(scene, name, findings);
  },
};

async function checkDepot(
  scene: Scene,
  name: (typeof DEPOTS)[number],
  { ok, warn, error }: Findings,
): Promise<void> {
  const address = requireValue(scene, name);
  if (isApiAddress(address)) {
    ok(`The depot of ${name} is the API of another installation; its key is not known here.`);
    return;
  }
  let depot: Depot | undefined;
  try {
    depot = openDepot(address, { stallMs: STALL_MS, environment: scene.variables });
    const kind = name === 'KEYS_DEPOT' ? 'keys' : 'snapshot';
    const read = await readRelease(depot, kind);
    const id = read && parseRelease(read.bytes, kind).id;
    const current = currentId(requireValue(scene, 'SNAPSHOTS_DIR'));
    const place = `The depot of ${name}, ${depot.name},`;
    if (id === undefined) {
      warn(
        `${place} can be read, but nothing was pushed to it.`,
        'Start "cover-catalogue schedule" at the origin, with the same depots.',
      );
    } else if (kind === 'snapshot' && id !== current) {
      warn(
        `${place} has ${id}, and this machine has ${current ?? 'no generation'}.`,
        'If this stays so, look at the log of "cover-catalogue schedule" or "cover-catalogue replica".',
      );
    } else ok(`${place} can be read and is up to date.`);
  } catch (cause) {
    error(
      `The depot of ${name} cannot be read: ${messageOf(cause)}`,
      `Correct ${name}, its credentials, or the network. See "Replicas" in OPERATIONS.md.`,
    );
  } finally {
    depot?.close();
  }
}
