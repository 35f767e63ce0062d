/**
 * Sends the keys file to the key store, for replicas. First the content goes there under its
 * SHA-256, then the pointer that names it. Without a change, a new pointer only confirms from time to
 * time that the keys still agree with the database.
 */
import { hash } from 'node:crypto';
import {
  encodeKeysPointer,
  KEYS_POINTER,
  KEYS_PREFIXES,
  type KeysPointer,
  LARGEST_KEYS_POINTER,
  parseKeysPointer,
  remoteKeys,
  signedKeysText,
} from '../../format/keys-pointer.ts';
import { contentOf, readUpTo } from '../remote/content.ts';
import type { RemoteStore } from '../remote/remote.ts';
import { checkSignatures } from '../signatures/check-pointer.ts';
import type { SigningKey } from '../signatures/keys.ts';
import type { Clock } from '../transfer/clock.ts';

/** How often keys that have not changed are confirmed. */
const CONFIRM_MS = 10_000;
/** A replica may still be reading an old content for this long. */
const KEPT_MS = 10 * 60_000;

export interface KeysSender {
  /**
   * Sends keys that have just been read from the database, if they have changed or must be confirmed.
   * Must not be called again before it has ended.
   * @param readAt when they were read, in milliseconds since 1970
   * @returns whether the content had changed
   * @throws Error if the store cannot be written
   */
  send(content: string, readAt: number): Promise<boolean>;
}

export function makeKeysSender(
  remote: RemoteStore,
  signingKeys: readonly SigningKey[],
  clock: Clock,
): KeysSender {
  let sequence: number | undefined;
  let sent: { readonly sha256: string; readonly at: number } | undefined;

  /** The sequence of the pointer in the store; 0 if there is none, or it cannot be trusted. */
  async function readSequence(): Promise<number> {
    const reply = await remote.get(KEYS_POINTER);
    if (reply.status !== 'found') return 0;
    const bytes = await readUpTo(reply.bytes, LARGEST_KEYS_POINTER);
    try {
      const pointer = parseKeysPointer(bytes?.toString('utf8') ?? '');
      return isTrusted(pointer) ? pointer.sequence : 0;
    } catch {
      return 0;
    }
  }

  /** Somebody who can write to the store, but not sign, must not affect the sequence. */
  function isTrusted(pointer: KeysPointer): boolean {
    if (signingKeys.length === 0) return true;
    const keys = signingKeys.map(({ verifyingKey }) => verifyingKey);
    const text = signedKeysText(pointer);
    return checkSignatures(KEYS_POINTER, text, pointer.signatures, keys) === undefined;
  }

  async function sendPointer(sha256: string, readAt: number): Promise<void> {
    // If the clock was set back, the sequence still grows.
    const next = Math.max(clock.now(), (sequence ?? (await readSequence())) + 1);
    const unsigned = {
      format_version: 1,
      sequence: next,
      sha256,
      confirmed_at: new Date(readAt).toISOString(),
    } as const;
    const text = signedKeysText(unsigned);
    const signatures = signingKeys.map((key) => ({
      key: key.verifyingKey.id,
      signature: key.sign(text),
    }));
    await remote.put(KEYS_POINTER, contentOf(encodeKeysPointer({ ...unsigned, signatures })));
    sequence = next;
    sent = { sha256, at: readAt };
  }

  async function removeOld(current: string): Promise<void> {
    for (const { path, modifiedAt } of await remote.list(KEYS_PREFIXES.keys)) {
      if (path === KEYS_POINTER || path === remoteKeys(current)) continue;
      if (clock.now() - modifiedAt.getTime() > KEPT_MS) await remote.remove(path);
    }
  }

  return {
    async send(content, readAt) {
      const sha256 = hash('sha256', content);
      const isNew = sent?.sha256 !== sha256;
      // The clock may have been set back since.
      if (!isNew && Math.abs(readAt - (sent?.at ?? 0)) < CONFIRM_MS) return false;
      if (isNew) await remote.put(remoteKeys(sha256), contentOf(content));
      await sendPointer(sha256, readAt);
      if (isNew) await removeOld(sha256);
      return isNew;
    },
  };
}
