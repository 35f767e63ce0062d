/**
 * Keeps `keys.json` equal to the newest keys in the key store. Its modification time is when the
 * keys last agreed with the database, by the clock of the sender.
 *
 * Invariant: older keys than those that were accepted are never written, so nobody who controls the
 * store can bring back a revoked key.
 */
import { hash } from 'node:crypto';
import { utimesSync } from 'node:fs';
import path from 'node:path';
import { LARGEST_KEYS_FILE, parseKeys } from '../../format/keys-file.ts';
import {
  KEYS_POINTER,
  type KeysPointer,
  LARGEST_KEYS_POINTER,
  parseKeysPointer,
  remoteKeys,
  signedKeysText,
} from '../../format/keys-pointer.ts';
import { KEYS_FILE } from '../../format/layout.ts';
import { replaceFile } from '../../generations/files/replace-file.ts';
import { readBoundedFileSync } from '../../program/files/bounded-file.ts';
import { PullRefusedError } from '../pull/source.ts';
import { readUpTo } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { checkSignatures } from '../signatures/check-pointer.ts';
import type { VerifyingKey } from '../signatures/keys.ts';
import { readAccepted, saveAccepted } from './accepted.ts';
import { makePointerReader } from './read-pointer.ts';

export interface KeysFollower {
  /**
   * Checks once. Must not be called again before the check has ended.
   * @returns whether the content of `keys.json` changed
   * @throws PullRefusedError, or another Error if the store or the disk fails
   */
  check(): Promise<boolean>;
}

/** @param publicKeys if there are any, the pointer must be signed with one of them */
export function makeKeysFollower(
  remote: RemoteStore,
  snapshotsDir: string,
  publicKeys: readonly VerifyingKey[],
): KeysFollower {
  const readText = makePointerReader(remote, KEYS_POINTER, LARGEST_KEYS_POINTER);
  const file = path.join(snapshotsDir, KEYS_FILE);
  let settled: string | undefined;

  function refuse(fault: string): PullRefusedError {
    return new PullRefusedError(`${remote.name}: ${fault} The known keys stay valid.`);
  }

  /** @throws PullRefusedError */
  function accept(text: string): KeysPointer {
    const { keys: last } = readAccepted(snapshotsDir);
    const pointer = parse(text);
    const { sequence, sha256 } = pointer;
    if (publicKeys.length > 0) {
      const signed = signedKeysText(pointer);
      const refusal = checkSignatures(KEYS_POINTER, signed, pointer.signatures, publicKeys);
      if (refusal !== undefined) throw refuse(refusal.message);
    }
    if (last !== null && sequence < last.sequence) {
      throw refuse(
        `${KEYS_POINTER} has the sequence ${sequence}, and ${last.sequence} was accepted before: older keys are offered again.`,
      );
    }
    if (last !== null && sequence === last.sequence && sha256 !== last.sha256) {
      throw refuse(
        `${KEYS_POINTER} names other keys than the accepted ones with the sequence ${sequence}.`,
      );
    }
    return pointer;
  }

  function parse(text: string): KeysPointer {
    try {
      return parseKeysPointer(text);
    } catch (cause) {
      throw refuse((cause as Error).message);
    }
  }

  async function fetchContent({ sha256 }: KeysPointer): Promise<string> {
    const name = remoteKeys(sha256);
    const reply = await remote.get(name);
    if (reply.status !== 'found') throw new Error(`${remote.name} does not have ${name}.`);
    const bytes = await readUpTo(reply.bytes, LARGEST_KEYS_FILE);
    if (bytes === undefined || hash('sha256', bytes) !== sha256) {
      throw refuse(`${name} does not have the SHA-256 in its name.`);
    }
    const content = bytes.toString('utf8');
    try {
      parseKeys(content);
    } catch (cause) {
      throw refuse((cause as Error).message);
    }
    return content;
  }

  return {
    async check() {
      const text = await readText();
      if (text === settled) return false;
      const pointer = accept(text);
      const { sequence, sha256 } = pointer;
      const isNew = hashOf(file) !== sha256;
      const content = isNew ? await fetchContent(pointer) : '';
      // Also if the content is the same: keys from between the two pointers are older than these.
      saveAccepted(snapshotsDir, { keys: { sequence, sha256 } });
      if (isNew) replaceFile(file, content);
      const confirmedAt = new Date(pointer.confirmed_at);
      utimesSync(file, confirmedAt, confirmedAt);
      settled = text;
      return isNew;
    },
  };
}

/** The SHA-256 of a file; undefined if it cannot be read. */
function hashOf(file: string): string | undefined {
  try {
    return hash('sha256', readBoundedFileSync(file, LARGEST_KEYS_FILE));
  } catch {
    return undefined;
  }
}
