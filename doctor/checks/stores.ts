/**
 * The servers that the installation uses over the network, if they are configured: Redis and remote stores.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { readStoredPointer } from '../../depot/push/pushed-pointer.ts';
import { openRemote } from '../../depot/remote/open-remote.ts';
import type { RemoteStore } from '../../depot/remote/remote.ts';
import { KEYS_POINTER } from '../../format/keys-pointer.ts';
import { currentId } from '../../generations/generations.ts';
import { messageOf } from '../../program/failure.ts';
import { type Check, type Findings, requireValue, type Scene } from '../findings/check.ts';

const CONNECT_MS = 2_000;
const PAUSE_MS = 25;
const STALL_SECONDS = 5;

export const limits: Check = {
  name: 'shared limits',
  programs: ['proxy'],
  async run(scene, { ok, warn, error }) {
    const isSet = (scene.variables.LIMITS_URL?.trim() ?? '') !== '';
    const address = isSet ? requireValue(scene, 'LIMITS_URL') : undefined;
    if (address === undefined) {
      ok('LIMITS_URL is not set: each proxy has limits of its own.');
      return;
    }
    const { connectToRedis } = await import('../../proxy/limits/redis-connection.ts');
    const connection = connectToRedis(address, CONNECT_MS);
    try {
      const end = performance.now() + CONNECT_MS;
      while (!connection.isReady() && performance.now() < end) await sleep(PAUSE_MS);
      const fault = connection.fault();
      if (!connection.isReady()) {
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
      connection.close();
    }
  },
};

export const stores: Check = {
  name: 'remote stores',
  programs: ['schedule', 'replica'],
  async run(scene, findings) {
    const names = ['SNAPSHOT_PUSH', 'REPLICA_FROM', 'KEYS_STORE'] as const;
    const set = names.filter((name) => requireValue(scene, name) !== '');
    if (set.length === 0) findings.ok('No remote store is configured.');
    for (const name of set) await checkStore(scene, name, findings);
  },
};

async function checkStore(
  scene: Scene,
  name: 'SNAPSHOT_PUSH' | 'REPLICA_FROM' | 'KEYS_STORE',
  findings: Findings,
): Promise<void> {
  const options = { stallSeconds: STALL_SECONDS, environment: scene.variables };
  let remote: RemoteStore | undefined;
  try {
    remote = openRemote(requireValue(scene, name), options);
    if (name === 'KEYS_STORE') await checkKeys(remote, findings);
    else await checkSnapshots(scene, name, remote, findings);
  } catch (error) {
    findings.error(
      `The store of ${name} cannot be read: ${messageOf(error)}`,
      `Correct ${name}, its credentials, or the network. See "Pushing to a store" in OPERATIONS.md.`,
    );
  } finally {
    remote?.close();
  }
}

async function checkKeys(remote: RemoteStore, { ok, warn }: Findings): Promise<void> {
  const reply = await remote.get(KEYS_POINTER);
  if (reply.status === 'found') {
    reply.drop();
    ok(`The key store, ${remote.name}, can be read and has keys.`);
  } else {
    warn(
      `The key store, ${remote.name}, can be read, but has no keys.`,
      'Start "cover-catalogue schedule" at the origin, with the same KEYS_STORE.',
    );
  }
}

async function checkSnapshots(
  scene: Scene,
  name: string,
  remote: RemoteStore,
  { ok, warn }: Findings,
): Promise<void> {
  const pointer = await readStoredPointer(remote);
  const current = currentId(requireValue(scene, 'SNAPSHOTS_DIR'));
  if (pointer === undefined) {
    warn(
      `The store of ${name}, ${remote.name}, can be read, but nothing was pushed to it.`,
      'Run "cover-catalogue snapshot push" at the origin.',
    );
  } else if (pointer.id !== current) {
    warn(
      `The store of ${name}, ${remote.name}, has ${pointer.id}, and this machine has ${current ?? 'no generation'}.`,
      'If this stays so, look at the log of "cover-catalogue schedule" or "cover-catalogue replica".',
    );
  } else ok(`The store of ${name}, ${remote.name}, has the current generation.`);
}
